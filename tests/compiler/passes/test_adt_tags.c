#include "tests/compiler/compiler_fixtures.h"

static void test_adt_tags_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("adt_tags");
}

int test_adt_tags(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adt_tags_gives_what_its_golden_files_say),
    };
    return cmocka_run_group_tests_name("adt_tags", tests, NULL, NULL);
}
