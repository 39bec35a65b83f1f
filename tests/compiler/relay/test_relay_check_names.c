#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static void test_relay_check_names_shadows_and_restores(void **state) {
    (void)state;
    relay_expect("def @main(%x: int32) { ((let %x = %x + 1; %x), %x) }",
        "int32[] 1 -> int32[] 2; int32[] 1");
    relay_refused(INVALID, "line 1, column 43: there is no variable %y",
        "def @main(%x: int32) { ((let %y = 1; %y), %y) }");
}

static void test_relay_check_names_refuses_unknown_types(void **state) {
    (void)state;
    relay_refused(INVALID, "line 1, column 15: there is no type Foo", "def @main(%x: Foo) { 1 }");
    relay_refused(INVALID, "type List has 1 type parameters, not 2",
        "def @main(%x: List[int32, int32]) { 1 }");
    relay_refused(
        INVALID, "line 1, column 15: there is no type B", "type T[A] { C(B) }\ndef @main() { 1 }");
    relay_refused(INVALID, "type parameter A stands twice", "def @f[A, A](%x: A) { %x }");
}

int test_relay_check_names(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_check_names_shadows_and_restores),
        cmocka_unit_test(test_relay_check_names_refuses_unknown_types),
    };
    return cmocka_run_group_tests_name("relay_check_names", tests, NULL, NULL);
}
