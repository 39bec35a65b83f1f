#include "tests/compiler/compiler_fixtures.h"

static void test_registers_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("registers");
}

int test_registers(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registers_gives_what_its_golden_files_say),
    };
    return cmocka_run_group_tests_name("registers", tests, NULL, NULL);
}
