#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

/* By their form, and not by their names. */
static void test_relay_port_shape_knows_lists_by_their_form(void **state) {
    (void)state;
    relay_expect("type Ints { End, Next(int32, Ints) }\n"
                 "def @main(%l: Ints) { match (%l) { Next(_, %r) => %r, End => %l } }",
        "list int32[] 1 | int32[] 2 -> list int32[] 2");
    relay_expect("type Pairs { Next(int32, int32, Pairs), End }\n"
                 "def @main(%l: Pairs) { match (%l) { Next(_, _, %r) => %r, End => %l } }",
        "list int32[] 1 | int32[] 2; list int32[] 3 | int32[] 4 -> list int32[] 2; list int32[] 4");
}

static void test_relay_port_shape_refuses_what_has_no_port(void **state) {
    (void)state;
    relay_refused(UNSUPPORTED,
        "line 1, column 11: parameter %x of @main is of type List[fn (Tensor[(), int32]) -> "
        "Tensor[(), int32]]; a value of type fn (Tensor[(), int32]) -> Tensor[(), int32] has no "
        "port. Ports have tensors, and tuples, lists, options and other data of them",
        "def @main(%x: List[fn (int32) -> int32]) { 1 }");
    relay_refused(UNSUPPORTED, "@main has more than 1000 ports",
        "type Nest[A] { End, Next(A, Nest[(A, A)]) }\n"
        "def @main() -> Nest[int32] { End }");
    relay_refused(UNSUPPORTED, "a value of type () has no port", "def @main(%x: List[()]) { 1 }");
    relay_refused(
        UNSUPPORTED, "a value of type U has no port", "type U { U }\ndef @main(%x: List[U]) { 1 }");
    relay_refused(
        UNSUPPORTED, "a value of type A has no port", "type A { A(A) }\ndef @main(%x: A) { 1 }");
    relay_refused(UNSUPPORTED, "@main has more than 1000 ports",
        "type D[A] { D(A, A, A, A, A, A, A, A, A, A) }\n"
        "def @main(%x: D[D[D[(int32, int32)]]]) { 1 }");
}

int test_relay_port_shape(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_port_shape_knows_lists_by_their_form),
        cmocka_unit_test(test_relay_port_shape_refuses_what_has_no_port),
    };
    return cmocka_run_group_tests_name("relay_port_shape", tests, NULL, NULL);
}
