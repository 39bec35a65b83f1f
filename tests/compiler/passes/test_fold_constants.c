#include "tests/compiler/compiler_fixtures.h"

static void test_fold_constants_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("fold_constants");
}

int test_fold_constants(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fold_constants_gives_what_its_golden_files_say),
    };
    return cmocka_run_group_tests_name("fold_constants", tests, NULL, NULL);
}
