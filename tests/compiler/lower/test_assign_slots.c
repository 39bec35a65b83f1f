#include "tests/compiler/compiler_fixtures.h"

static void test_assign_slots_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("assign_slots");
}

int test_assign_slots(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_assign_slots_gives_what_its_golden_files_say),
    };
    return cmocka_run_group_tests_name("assign_slots", tests, NULL, NULL);
}
