#include "compiler/relay/relay_check.h"

#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static void test_relay_check_finds_types_of_functions_in_any_order(void **state) {
    (void)state;
    relay_expect("def @main(%n: int32) { @g(%n) + 1 }\ndef @g(%n: int32) { @h(%n) * 2 }\n"
                 "def @h(%n: int32) { %n - 1 }",
        "int32[] 5 -> int32[] 9");
}

static void test_relay_check_refuses_what_has_no_ports(void **state) {
    (void)state;
    relay_refused(UNSUPPORTED,
        "line 1, column 5: the result of @main is of type List[fn () -> Tensor[(), int32]]",
        "def @main() { Cons(fn () { 1 }, Nil) }");
    relay_refused(UNSUPPORTED, "line 1, column 11: parameter %f of @main is of type fn () -> _",
        "def @main(%f: fn () -> _) { 1 }");
    relay_refused(INVALID, "the program has no @main", "def @f[A](%x: List[A]) -> List[A] { %x }");
}

int test_relay_check(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_check_finds_types_of_functions_in_any_order),
        cmocka_unit_test(test_relay_check_refuses_what_has_no_ports),
    };
    return cmocka_run_group_tests_name("relay_check", tests, NULL, NULL);
}
