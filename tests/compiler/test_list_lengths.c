#include "tests/compiler/compiler_fixtures.h"

static void test_list_lengths_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("list_lengths");
}

int test_list_lengths(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_lengths_gives_what_its_golden_files_say),
    };
    return cmocka_run_group_tests_name("list_lengths", tests, NULL, NULL);
}
