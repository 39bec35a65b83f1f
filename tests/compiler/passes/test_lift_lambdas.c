#include "tests/compiler/compiler_fixtures.h"

static void test_lift_lambdas_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("lift_lambdas");
}

int test_lift_lambdas(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lift_lambdas_gives_what_its_golden_files_say),
    };
    return cmocka_run_group_tests_name("lift_lambdas", tests, NULL, NULL);
}
