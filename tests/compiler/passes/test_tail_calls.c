#include "tests/compiler/compiler_fixtures.h"

static void test_tail_calls_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("tail_calls");
}

int test_tail_calls(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tail_calls_gives_what_its_golden_files_say),
    };
    return cmocka_run_group_tests_name("tail_calls", tests, NULL, NULL);
}
