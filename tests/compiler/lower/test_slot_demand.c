#include "tests/compiler/compiler_fixtures.h"

static void test_slot_demand_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("slot_demand");
}

int test_slot_demand(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slot_demand_gives_what_its_golden_files_say),
    };
    return cmocka_run_group_tests_name("slot_demand", tests, NULL, NULL);
}
