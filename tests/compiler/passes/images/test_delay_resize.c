#include "tests/compiler/compiler_fixtures.h"

static void test_delay_resize_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("delay_resize");
}

int test_delay_resize(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delay_resize_gives_what_its_golden_files_say),
    };
    return cmocka_run_group_tests_name("delay_resize", tests, NULL, NULL);
}
