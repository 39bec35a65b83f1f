#include "tests/compiler/compiler_fixtures.h"

static void test_infer_values_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("infer_values");
}

int test_infer_values(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_infer_values_gives_what_its_golden_files_say),
    };
    return cmocka_run_group_tests_name("infer_values", tests, NULL, NULL);
}
