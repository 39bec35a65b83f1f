#include "compiler/relay/text/relay_parse.h"

#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static void test_relay_parse_takes_headers_and_graphs(void **state) {
    (void)state;
    relay_expect(
        "#[version = \"0.0.5\"]\nfn (%x: Tensor[(2), float32] /* ty=Tensor[(2), float32] */, "
        "hash=\"1\") {\n  %0 = add(%x, 1f);\n"
        "  %1 = multiply(%0, %0) /* ty=_ */;\n  (%1, %0)\n}",
        "float32[2] 1 2 -> float32[2] 4 9; float32[2] 2 3");
    relay_expect(
        "v0.0.4\nfree_var %x: int32;\nlet %y = %x * 3;\n%y - 1", "int32[] 5 -> int32[] 14");
}

static void test_relay_parse_refuses_programs(void **state) {
    (void)state;
    relay_refused(INVALID, "line 1, column 1: the program defines nothing", "");
    relay_refused(INVALID, "line 1, column 5: the name of a function, @f, is wanted, not main",
        "def main() { 1 }");
    relay_refused(
        INVALID, "line 2, column 5: f is defined twice", "def @f() { 1 }\ndef @f() { 2 }");
    relay_refused(
        INVALID, "constructor A is defined twice", "type T { A }\ntype U { A }\ndef @main() { 1 }");
    relay_refused(
        INVALID, "line 1, column 19: def or type is wanted, not 3", "def @main() { 1 } 3");
    relay_refused(INVALID, "line 1, column 17: } is wanted, not the end", "def @main() { 1 ");
    relay_refused(INVALID, "constructor A is defined twice", "type T { A, A }\ndef @main() { 1 }");
}

int test_relay_parse(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_parse_takes_headers_and_graphs),
        cmocka_unit_test(test_relay_parse_refuses_programs),
    };
    return cmocka_run_group_tests_name("relay_parse", tests, NULL, NULL);
}
