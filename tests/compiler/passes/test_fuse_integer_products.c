#include "tests/compiler/compiler_fixtures.h"

static void test_fuse_integer_products_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("fuse_integer_products");
}

int test_fuse_integer_products(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fuse_integer_products_gives_what_its_golden_files_say),
    };
    return cmocka_run_group_tests_name("fuse_integer_products", tests, NULL, NULL);
}
