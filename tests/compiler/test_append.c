#include "tests/compiler/compiler_fixtures.h"

static void test_append_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("append");
}

int test_append(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append_gives_what_its_golden_files_say),
    };
    return cmocka_run_group_tests_name("append", tests, NULL, NULL);
}
