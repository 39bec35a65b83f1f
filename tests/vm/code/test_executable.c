#include "tests/vm/vm_fixture.h"
#include "vm/code/executable.h"

static void test_executable_finds_only_exported_functions(void **state) {
    (void)state;
    Executable *executable =
        vm_parse("constant @a = float32[3] {1, 2, 3}\nfunction inner() {\n Ret 1\n}\n"
                 "function main() exported {\n Ret 1\n}\n");
    uint32_t index;
    assert_ok(executable_find_function(executable, "main", &index));
    assert_int_equal(index, 1);
    assert_fails_saying(
        NOT_FOUND, "there is main", executable_find_function(executable, "inner", &index));
    assert_int_equal(executable_constant_bytes(executable), 12);
    Executable *same = executable_retain(executable);
    executable_release(executable);
    assert_int_equal(same->function_count, 2);
    executable_release(same);
}

/* A call that gives an input which only the second form has gets that form. */
static void test_executable_chooses_the_form_that_has_the_input(void **state) {
    (void)state;
    Executable *executable =
        vm_parse("function main(x: float32[2] slot 0) exported {\n Ret r0\n}\n"
                 "function main_given(x: float32[2] slot 0, w: float32[2] slot 0) exported {\n"
                 " Ret r1\n}\n");
    assert_int_equal(executable_choose_function(executable, 0, "x"), 0);
    assert_int_equal(executable_choose_function(executable, 0, "w"), 1);
    assert_int_equal(executable_choose_function(executable, 0, "v"), 0);
    assert_int_equal(executable_choose_function(executable, 1, "x"), 1);
    executable_release(executable);
}

int test_executable(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_executable_chooses_the_form_that_has_the_input),
        cmocka_unit_test(test_executable_finds_only_exported_functions),
    };
    return cmocka_run_group_tests_name("executable", tests, NULL, NULL);
}
