#include "tests/compiler/compiler_fixtures.h"

static void test_fuse_normalizations_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("fuse_normalizations");
}

int test_fuse_normalizations(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fuse_normalizations_gives_what_its_golden_files_say),
    };
    return cmocka_run_group_tests_name("fuse_normalizations", tests, NULL, NULL);
}
