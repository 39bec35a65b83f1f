#include "tests/compiler/compiler_fixtures.h"

static void test_quantized_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("quantized");
}

int test_quantized(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantized_gives_what_its_golden_files_say),
    };
    return cmocka_run_group_tests_name("quantized", tests, NULL, NULL);
}
