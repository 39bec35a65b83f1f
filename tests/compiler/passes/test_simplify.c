#include "tests/compiler/compiler_fixtures.h"

static void test_simplify_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("simplify");
}

int test_simplify(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_simplify_gives_what_its_golden_files_say),
    };
    return cmocka_run_group_tests_name("simplify", tests, NULL, NULL);
}
