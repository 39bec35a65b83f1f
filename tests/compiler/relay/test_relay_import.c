#include "compiler/relay/relay_import.h"

#include <string.h>

#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static void test_relay_import_runs_a_thin_program(void **state) {
    (void)state;
    relay_expect("def @main(%x: Tensor[(2, 2), float32]) { add(%x, %x) }",
        "float32[2,2] 0 1 2 3 -> float32[2,2] 0 2 4 6");
}

/* Definitions of the program take the place of the prelude's. */
static void test_relay_import_prefers_the_programs_own_definitions(void **state) {
    (void)state;
    relay_expect("type List[A] { Nil, Cons(A, List[A]), }\n"
                 "def @length[A](%l: List[A]) -> int32 { 7 }\n"
                 "def @main() { (@length(Cons(1, Nil)), @sum(Cons(2, Cons(3, Nil)))) }",
        "-> int32[] 7; int32[] 5");
}

static void test_relay_import_knows_programs_by_their_beginning(void **state) {
    (void)state;
    static const char *const programs[] = {"#[version = \"0.0.5\"]\n", "def @main() { 1 }",
        "/* c */ // d\n  fn (%x) { %x }", "type T { A }", "v0.0.4\n"};
    static const char *const others[] = {"", "/*", "/* x */", "\x08\x07onnx", "definition", "//"};
    for (size_t i = 0; i < 5; i++)
        assert_true(relay_probe((const uint8_t *)programs[i], strlen(programs[i])));
    for (size_t i = 0; i < 6; i++)
        assert_false(relay_probe((const uint8_t *)others[i], strlen(others[i])));
}

/* Stacking takes apart what unstacking put together, for every element type of the family. */
static void test_relay_import_has_tensor_arrays(void **state) {
    (void)state;
    relay_expect(
        "def @main(%x: Tensor[(?, ?), int64]) {\n"
        "  let %a = @tensor_array_unstack_tensor2_int64(%x);\n"
        "  let %b = @tensor_array_write_int64(%a, 1, tensor1_int64(full(9i64, shape=[2])));\n"
        "  let %s = @tensor_array_stack_int64(@rev(%b));\n"
        "  let %c = @tensor_array_concat_int64(%b);\n"
        "  (match? (%s) { tensor2_int64(%y) => %y }, match? (%c) { tensor1_int64(%y) => %y },\n"
        "   @length(@tensor_array_bool(4))) }",
        "int64[3,2] 1 2 3 4 5 6 -> int64[3,2] 5 6 9 9 1 2; int64[6] 1 2 9 9 5 6; int32[] 4");
}

int test_relay_import(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_import_runs_a_thin_program),
        cmocka_unit_test(test_relay_import_prefers_the_programs_own_definitions),
        cmocka_unit_test(test_relay_import_knows_programs_by_their_beginning),
        cmocka_unit_test(test_relay_import_has_tensor_arrays),
    };
    return cmocka_run_group_tests_name("relay_import", tests, NULL, NULL);
}
