#include "tests/compiler/compiler_fixtures.h"

static void test_integers_products_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("integers_products");
}

int test_integers_products(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers_products_gives_what_its_golden_files_say),
    };
    return cmocka_run_group_tests_name("integers_products", tests, NULL, NULL);
}
