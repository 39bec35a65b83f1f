#include "tests/compiler/compiler_fixtures.h"

static void test_shape_reads_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("shape_reads");
}

int test_shape_reads(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape_reads_gives_what_its_golden_files_say),
    };
    return cmocka_run_group_tests_name("shape_reads", tests, NULL, NULL);
}
