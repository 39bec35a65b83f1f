#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static void test_relay_parse_expr_binds_signs_by_level(void **state) {
    (void)state;
    relay_expect(
        "def @main(%a: int32) { (%a + 2 * 3 - 1, (%a + 2) * 3, 7 / 2 - 1 < %a, 1 != 2 == True) }",
        "int32[] 1 -> int32[] 6; int32[] 9; bool[] 0; bool[] 1");
}

static void test_relay_parse_expr_reads_branches_and_blocks(void **state) {
    (void)state;
    static const char program[] =
        "def @main(%a: int32) {\n"
        "  let %b: int32 = if (%a < 0) { let %c = 1; %c } else if (%a == 0) { 2 } else { 3 };\n"
        "  let %b = %b * 10;\n  ((%b, ()).0, (let %d = 4; %d + %b)) }";
    relay_expect(program, "int32[] -1 -> int32[] 10; int32[] 14");
    relay_expect(program, "int32[] 0 -> int32[] 20; int32[] 24");
    relay_expect(program, "int32[] 1 -> int32[] 30; int32[] 34");
}

static void test_relay_parse_expr_refuses_others(void **state) {
    (void)state;
    relay_refused(
        INVALID, "line 2, column 3: an expression is wanted, not }", "def @main() {\n  }");
    relay_refused(INVALID, "else is wanted, not }", "def @main() { if (True) { 1 } }");
    relay_refused(INVALID, "a tuple has no attributes", "def @main() { (1, a=2) }");
    relay_refused(INVALID, "the number of a field is wanted", "def @main() { (1, 2).x }");
    relay_refused(INVALID, "; is wanted", "def @main() { let %x = 1 %x }");
}

int test_relay_parse_expr(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_parse_expr_binds_signs_by_level),
        cmocka_unit_test(test_relay_parse_expr_reads_branches_and_blocks),
        cmocka_unit_test(test_relay_parse_expr_refuses_others),
    };
    return cmocka_run_group_tests_name("relay_parse_expr", tests, NULL, NULL);
}
