#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static void test_relay_ports_take_tuples_apart(void **state) {
    (void)state;
    relay_expect("def @main(%p: (int32, (float32, int32))) { (%p.1, %p.0 + %p.1.1) }",
        "int32[] 1; float32[] 2; int32[] 3 -> float32[] 2; int32[] 3; int32[] 4");
    relay_expect_failure("def @main(%p: (int32, (float32, int32))) { %p.0 }",
        "int32[] 1; int32[] 2; int32[] 3", "input p.1.0 is int32, not float32");
    relay_expect_failure(
        "def @main(%x: Tensor[(2, ?), int32]) { %x }", "int32[3,1] 1 2 3", "input x");
}

static void test_relay_ports_pass_lists(void **state) {
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

static void test_relay_ports_pass_options(void **state) {
    (void)state;
    static const char program[] =
        "type Maybe { Nothing, Just(Tensor[(?), float32]) }\n"
        "def @main(%o: Option[float32], %m: Maybe) {\n"
        "  (match (%m) { Just(%x) => Just(%x + @option_or(%o, 1f)), Nothing => Nothing },\n"
        "   match (%o) { Some(%x) => None, None => Some(2f) }) }";
    relay_expect(program, "float32[] 5; float32[2] 1 2 -> float32[2] 6 7; none");
    relay_expect(program, "none; none -> none; float32[] 2");
}

int test_relay_ports(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_ports_take_tuples_apart),
        cmocka_unit_test(test_relay_ports_pass_lists),
        cmocka_unit_test(test_relay_ports_pass_options),
    };
    return cmocka_run_group_tests_name("relay_ports", tests, NULL, NULL);
}
