#include "tests/vm/relax/relax_case_runner.h"

static void test_relax_paged_cache_answers_as_tvm(void **state) {
    (void)state;
    relax_cases_run("paged");
}

int test_relax_paged_calls(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_paged_cache_answers_as_tvm),
    };
    return cmocka_run_group_tests_name("relax_paged_calls", tests, NULL, NULL);
}
