#include "tests/vm/relax/relax_case_runner.h"

static void test_relax_tensor_cache_answers_as_tvm(void **state) {
    (void)state;
    relax_cases_run("tensor_cache");
}

static void test_relax_tensor_cache_belongs_to_an_execution(void **state) {
    (void)state;
    relax_refuses("names are kept by an execution", "vm.builtin.tensor_cache.get",
        RELAX_ARGUMENTS(relax_string("a")));
    relax_refuses("an execution reads no files of its host", "vm.builtin.tensor_cache.load",
        RELAX_ARGUMENTS(relax_string("/etc"), value_int(1), value_int(0)));
}

int test_relax_tensor_cache(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_tensor_cache_answers_as_tvm),
        cmocka_unit_test(test_relax_tensor_cache_belongs_to_an_execution),
    };
    return cmocka_run_group_tests_name("relax_tensor_cache", tests, NULL, NULL);
}
