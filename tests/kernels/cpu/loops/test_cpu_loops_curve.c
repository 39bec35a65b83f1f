#include <math.h>

#include "tests/kernels/fixtures/loop_fixture.h"

static void test_gelu_has_the_same_bits_at_every_level(void **state) {
    (void)state;
    assert_int_equal(loop_fixture_check(CPU_LOOP_GELU_ERF, CPU_LOOP_GELU_TANH), 2 * 4);
}

static double gelu_erf(double x) { return 0.5 * x * erfc(-x / sqrt(2)); }
static double gelu_tanh(double x) {
    return x / (1 + exp(-2 * sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
}

/* Over the whole range of the polynomial and beyond both of its ends. */
static void test_gelu_agrees_with_the_definition(void **state) {
    (void)state;
    enum { COUNT = 4001 };
    float x[COUNT], y[COUNT];
    for (int i = 0; i < COUNT; i++) x[i] = (float)(i - COUNT / 2) * 0.005f;
    x[0] = -INFINITY, x[1] = -1e30f, x[COUNT - 2] = 1e30f, x[COUNT - 1] = INFINITY;
    for (int form = 0; form < 2; form++) {
        const CpuLoopId id = form ? CPU_LOOP_GELU_TANH : CPU_LOOP_GELU_ERF;
        CpuOperand operand[] = {{x, 1}};
        cpu_loop_find(CPU_LEVEL_PORTABLE, id, DTYPE_FLOAT32)(y, operand, COUNT, NULL);
        for (int i = 2; i < COUNT - 2; i++) {
            const double want = form ? gelu_tanh(x[i]) : gelu_erf(x[i]);
            assert_true(fabs(y[i] - want) <= 6e-7 + 6e-7 * fabs(want));
        }
        assert_true(y[1] == 0 && y[COUNT - 2] == 1e30f && y[COUNT - 1] == INFINITY);
        assert_true(y[COUNT / 2] == 0);
    }
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
        cmocka_unit_test(test_gelu_agrees_with_the_definition),
        cmocka_unit_test(test_angles_beyond_the_fast_range_are_found_in_a_block),
    };
    return cmocka_run_group_tests_name("cpu_loops_curve", tests, NULL, NULL);
}
