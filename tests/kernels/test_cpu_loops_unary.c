#include <math.h>

#include "tests/kernels/loop_fixture.h"

static void test_functions_have_the_same_bits_at_every_level(void **state) {
    (void)state;
    assert_int_equal(loop_fixture_check(CPU_LOOP_CLIP, CPU_LOOP_CLIP), 12);
    assert_int_equal(loop_fixture_check(CPU_LOOP_NEG, CPU_LOOP_ROUND), 4 * 12 + 20 * 4);
}

/* Arguments that need the long reduction stand among ones that do not. */
static void test_angles_beyond_the_fast_range_are_found_in_a_block(void **state) {
    (void)state;
    double x[1100], y[1100];
    for (int i = 0; i < 1100; i++) x[i] = i % 37 == 0 ? 1e22 + i : i * 0.7 - 300;
    x[5] = (double)INFINITY;
    CpuLoop *loop = cpu_loop_find(CPU_LEVEL_PORTABLE, CPU_LOOP_SIN, DTYPE_FLOAT64);
    memcpy(y, x, sizeof x);
    loop(y, (CpuOperand[]){{y, 1}}, 1100, NULL); /* in place */
    for (int i = 0; i < 1100; i++)
        assert_true(i == 5 ? isnan(y[i]) : fabs(y[i] - sin(x[i])) <= 1e-15);
}

int test_cpu_loops_unary(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_have_the_same_bits_at_every_level),
        cmocka_unit_test(test_angles_beyond_the_fast_range_are_found_in_a_block),
    };
    return cmocka_run_group_tests_name("cpu_loops_unary", tests, NULL, NULL);
}
