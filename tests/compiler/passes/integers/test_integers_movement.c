#include "tests/compiler/compiler_fixtures.h"

static void test_integers_movement_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("integers_movement");
}

int test_integers_movement(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers_movement_gives_what_its_golden_files_say),
    };
    return cmocka_run_group_tests_name("integers_movement", tests, NULL, NULL);
}
