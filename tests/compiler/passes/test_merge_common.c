#include "tests/compiler/compiler_fixtures.h"

static void test_merge_common_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("merge_common");
}

int test_merge_common(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge_common_gives_what_its_golden_files_say),
    };
    return cmocka_run_group_tests_name("merge_common", tests, NULL, NULL);
}
