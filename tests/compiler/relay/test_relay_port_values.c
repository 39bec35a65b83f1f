#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static void test_relay_port_values_pass_lists(void **state) {
    (void)state;
    static const char program[] =
        "def @main(%xs: List[Tensor[(?), int32]], %p: (List[int32], int32)) {\n"
        "  (@rev(%xs), @map(fn (%i: int32) { %i * %p.1 }, %p.0)) }";
    relay_expect(program, "list int32[1] 1 | int32[2] 2 3; list int32[] 4 | int32[] 5; int32[] 10 "
                          "-> list int32[2] 2 3 | int32[1] 1; list int32[] 40 | int32[] 50");
    relay_expect(program, "list; list; int32[] 10 -> list; list");
    relay_expect_failure(
        program, "list float32[1] 1; list; int32[] 1", "item 0: input xs is float32, not int32");
}

static void test_relay_port_values_pass_options(void **state) {
    (void)state;
    static const char program[] =
        "type Maybe { Nothing, Just(Tensor[(?), float32]) }\n"
        "def @main(%o: Option[float32], %m: Maybe) {\n"
        "  (match (%m) { Just(%x) => Just(%x + @option_or(%o, 1f)), Nothing => Nothing },\n"
        "   match (%o) { Some(%x) => None, None => Some(2f) }) }";
    relay_expect(program, "float32[] 5; float32[2] 1 2 -> float32[2] 6 7; none");
    relay_expect(program, "none; none -> none; float32[] 2");
}

/* By their form, and not by their names. */
static void test_relay_port_values_are_lists_of_tensors_only(void **state) {
    (void)state;
    relay_expect("type Ints { End, Next(int32, Ints) }\n"
                 "def @main(%l: Ints) { match (%l) { Next(_, %r) => %r, End => %l } }",
        "list int32[] 1 | int32[] 2 -> list int32[] 2");
    relay_refused(UNSUPPORTED,
        "line 1, column 11: parameter %x of @main is of type List[List[Tensor[(), int32]]]; it has "
        "to be a tensor, a list or an option of tensors, or a tuple of these",
        "def @main(%x: List[List[int32]]) { 1 }");
    relay_refused(UNSUPPORTED, "the result of @main is of type Nest[Tensor[(), int32]]",
        "type Nest[A] { End, Next(A, Nest[(A, A)]) }\n"
        "def @main() -> Nest[int32] { End }");
    relay_refused(UNSUPPORTED, "parameter %x of @main is of type T",
        "type T { A(int32), B(int32) }\ndef @main(%x: T) { 1 }");
}

int test_relay_port_values(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_port_values_pass_lists),
        cmocka_unit_test(test_relay_port_values_pass_options),
        cmocka_unit_test(test_relay_port_values_are_lists_of_tensors_only),
    };
    return cmocka_run_group_tests_name("relay_port_values", tests, NULL, NULL);
}
