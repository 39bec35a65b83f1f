#include "tests/conformance/suite_test.h"

static void test_fused_operators_equal_their_expansions(void **state) {
    (void)state;
    suite_test("cpu", "expansion");
    suite_test("sim:0", "expansion");
}

int test_expansion(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fused_operators_equal_their_expansions),
    };
    return cmocka_run_group_tests_name("expansion", tests, NULL, NULL);
}
