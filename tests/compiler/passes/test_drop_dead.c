#include "tests/compiler/compiler_fixtures.h"

static void test_drop_dead_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("drop_dead");
}

int test_drop_dead(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drop_dead_gives_what_its_golden_files_say),
    };
    return cmocka_run_group_tests_name("drop_dead", tests, NULL, NULL);
}
