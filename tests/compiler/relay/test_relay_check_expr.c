#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static void test_relay_check_expr_says_what_does_not_fit(void **state) {
    (void)state;
    relay_refused(INVALID,
        "line 1, column 19: the condition is of type Tensor[(), int32], not Tensor[(), bool]",
        "def @main() { if (1) { 2 } else { 3 } }");
    relay_refused(INVALID, "a value of type (Tensor[(), int32], Tensor[(), int32]) has no field 2",
        "def @main() { (1, 2).2 }");
    relay_refused(INVALID, "the value is of type Tensor[(), int32], not Tensor[(), float32]",
        "def @main() { let %x: float32 = 1; %x }");
    relay_refused(INVALID,
        "the function's result is of type Tensor[(), int32], not Tensor[(2,), int32]",
        "def @main() -> Tensor[(2), int32] { 1 }");
    relay_refused(INVALID, "there is no function @f", "def @main() { @f(1) }");
}

static void test_relay_check_expr_gives_functions_their_own_type_parameters(void **state) {
    (void)state;
    relay_expect("def @main() { let %id = fn [A](%x: A) -> A { %x }; (%id(1), %id((2f, True)).0) }",
        "-> int32[] 1; float32[] 2");
    relay_refused(INVALID, "is of type Tensor[(), float32], not Tensor[(), int32]",
        "def @main() { let %id = fn (%x) { %x }; (%id(1), %id(2f)) }");
    relay_refused(INVALID, "the function's result is of type Tensor[(), int32], not A",
        "def @f[A](%x: A) -> A { 1 }\ndef @main() { @f(2) }");
}

int test_relay_check_expr(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_check_expr_says_what_does_not_fit),
        cmocka_unit_test(test_relay_check_expr_gives_functions_their_own_type_parameters),
    };
    return cmocka_run_group_tests_name("relay_check_expr", tests, NULL, NULL);
}
