#include "tests/kernels/fixtures/loop_fixture.h"

static void test_functions_have_the_same_bits_at_every_level(void **state) {
    (void)state;
    assert_int_equal(loop_fixture_check(CPU_LOOP_CLIP, CPU_LOOP_CLIP), 12);
    assert_int_equal(loop_fixture_check(CPU_LOOP_NEG, CPU_LOOP_ABS), 2 * 12);
}

int test_cpu_loops_unary(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_have_the_same_bits_at_every_level),
    };
    return cmocka_run_group_tests_name("cpu_loops_unary", tests, NULL, NULL);
}
