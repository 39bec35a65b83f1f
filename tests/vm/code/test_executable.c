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

int test_executable(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_executable_finds_only_exported_functions),
    };
    return cmocka_run_group_tests_name("executable", tests, NULL, NULL);
}
