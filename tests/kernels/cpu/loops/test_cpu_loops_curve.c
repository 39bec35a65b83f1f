#include <math.h>

#include "tests/kernels/fixtures/loop_fixture.h"

static void test_gelu_has_the_same_bits_at_every_level(void **state) {
    (void)state;
    assert_int_equal(loop_fixture_check(CPU_LOOP_GELU_ERF, CPU_LOOP_GELU_TANH), 2 * 4);
}

/* Arguments that need the long reduction stand among ones that do not. */
static void test_angles_beyond_the_fast_range_are_found_in_a_block(void **state) {
    (void)state;
    static const struct {
        CpuLoopId id;
        double (*function)(double x);
    } functions[] = {{CPU_LOOP_SIN, sin}, {CPU_LOOP_COS, cos}, {CPU_LOOP_TAN, tan}};
    double x[1100], y[1100];
    for (int i = 0; i < 1100; i++) x[i] = i % 37 == 0 ? 1e22 + i : i * 0.7 - 300;
    x[5] = (double)INFINITY;
    for (size_t k = 0; k < 3; k++) {
        CpuLoop *loop = cpu_loop_find(CPU_LEVEL_PORTABLE, functions[k].id, DTYPE_FLOAT64);
        memcpy(y, x, sizeof x);
        loop(y, (CpuOperand[]){{y, 1}}, 1100, NULL); /* in place */
        for (int i = 0; i < 1100; i++) {
            const double want = functions[k].function(x[i]);
            assert_true(i == 5 ? isnan(y[i]) : fabs(y[i] - want) <= 1e-15 * (1 + fabs(want)));
        }
    }
}

int test_cpu_loops_curve(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gelu_has_the_same_bits_at_every_level),
        cmocka_unit_test(test_angles_beyond_the_fast_range_are_found_in_a_block),
    };
    return cmocka_run_group_tests_name("cpu_loops_curve", tests, NULL, NULL);
}
