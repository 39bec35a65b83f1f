#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static void test_relay_check_calls_counts_arguments(void **state) {
    (void)state;
    relay_refused(INVALID, "line 2, column 15: @f takes 1 argument, not 2",
        "def @f(%x: int32) { %x }\ndef @main() { @f(1, 2) }");
    relay_refused(INVALID, "Cons takes 2 arguments, not 1", "def @main() { Cons(1) }");
    relay_refused(INVALID,
        "line 1, column 23: argument 2 of Cons is of type Tensor[(), int32], not List[Tensor[(), "
        "int32]]",
        "def @main() { Cons(1, 2) }");
    relay_refused(INVALID, "what is called is of type Tensor[(), int32]", "def @main() { (1)(2) }");
    relay_refused(INVALID, "@f has no attribute a", "def @f() { 1 }\ndef @main() { @f(a=1) }");
}

static void test_relay_check_calls_refuses_unknown_operators(void **state) {
    (void)state;
    relay_refused(UNSUPPORTED, "line 1, column 15: there is no operator or constructor nn.magic",
        "def @main() { nn.magic(1) }");
}

/* Operators and constructors are values as well. */
static void test_relay_check_calls_makes_functions_of_names(void **state) {
    (void)state;
    relay_expect(
        "def @main() { let %l = @foldr(Cons, Nil, Cons(1f, Cons(-2f, Nil)));\n"
        "  let %m = @map(nn.relu, %l); (@nth(%m, 0), @nth(%m, 1), @foldl(maximum, 0f, %l)) }",
        "-> float32[] 1; float32[] 0; float32[] 1");
}

static void test_relay_check_calls_waits_for_types(void **state) {
    (void)state;
    relay_expect("def @main() { let %f = fn (%x, %y) { %x * %y + 1 }; %f(2, 3) }", "-> int32[] 7");
    relay_refused(INVALID, "line 1, column 37: the type of an argument of add is not known",
        "def @main() { let %f = fn (%x) { %x + %x }; 1 }");
}

int test_relay_check_calls(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_check_calls_counts_arguments),
        cmocka_unit_test(test_relay_check_calls_refuses_unknown_operators),
        cmocka_unit_test(test_relay_check_calls_makes_functions_of_names),
        cmocka_unit_test(test_relay_check_calls_waits_for_types),
    };
    return cmocka_run_group_tests_name("relay_check_calls", tests, NULL, NULL);
}
