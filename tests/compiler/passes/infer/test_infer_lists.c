#include "tests/compiler/compiler_fixtures.h"

static void test_infer_lists_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("infer_lists");
}

int test_infer_lists(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_infer_lists_gives_what_its_golden_files_say),
    };
    return cmocka_run_group_tests_name("infer_lists", tests, NULL, NULL);
}
