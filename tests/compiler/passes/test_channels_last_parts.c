#include "tests/compiler/compiler_fixtures.h"

static void test_channels_last_parts_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("channels_last_parts");
}

int test_channels_last_parts(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_channels_last_parts_gives_what_its_golden_files_say),
    };
    return cmocka_run_group_tests_name("channels_last_parts", tests, NULL, NULL);
}
