#include <math.h>
#include <stdlib.h>

#include "tests/kernels/fixtures/loop_fixture.h"

enum { LENGTH = 9001, WIDTH = 300, ROWS = 300 };

/* NaN is NaN: what finishes a reduction makes it the canonical one. */
static void check_equal(DType dtype, const CpuTotal *a, const CpuTotal *b, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        if (dtype_is_float(dtype) && isnan(a[i].f64) && isnan(b[i].f64)) continue;
        assert_true(a[i].u64 == b[i].u64);
    }
}

static void check_levels(CpuReduction reduction, DType dtype, const char *x) {
    CpuLevel levels[3];
    uint32_t level_count = loop_fixture_levels(levels);
    static const int64_t lengths[] = {0, 1, 31, 32, 33, 4096, 4097, LENGTH};
    const CpuReducer *portable = cpu_reducer_find(CPU_LEVEL_PORTABLE, reduction, dtype);
    for (uint32_t i = 0; i < level_count; i++) {
        const CpuReducer *reducer = cpu_reducer_find(levels[i], reduction, dtype);
        for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
            CpuTotal a = portable->identity, b = reducer->identity;
            portable->rows(&a, x, 1, lengths[k], LENGTH);
            reducer->rows(&b, x, 1, lengths[k], LENGTH);
            check_equal(dtype, &a, &b, 1);
        }
        CpuTotal a[WIDTH], b[WIDTH];
        for (int c = 0; c < WIDTH; c++) a[c] = b[c] = portable->identity;
        portable->columns(a, x, WIDTH, ROWS, WIDTH);
        reducer->columns(b, x, WIDTH, ROWS, WIDTH);
        check_equal(dtype, a, b, WIDTH);
    }
}

static void test_reductions_have_the_same_bits_at_every_level(void **state) {
    char *x = malloc(WIDTH * ROWS * 8);
    assert_non_null(x);
    (void)state;
    for (CpuReduction reduction = 0; reduction < CPU_REDUCTION_COUNT; reduction++)
        for (DType dtype = 1; dtype < DTYPE_COUNT; dtype++) {
            if (!cpu_reducer_find(CPU_LEVEL_PORTABLE, reduction, dtype)) continue;
            loop_fixture_fill(dtype, 5 + (uint64_t)dtype, x, WIDTH * ROWS);
            /* edges make sums NaN: once without them too */
            check_levels(reduction, dtype, x);
            if (dtype == DTYPE_FLOAT32)
                for (int i = 0; i < WIDTH * ROWS; i++) ((float *)x)[i] = (float)(i % 1000) * 0.001f;
            check_levels(reduction, dtype, x);
        }
    free(x);
}

/* A million float32 of 0.1 summed in float32 one by one are off by 1 %; blocks keep 1e-6. */
static void test_long_sums_stay_accurate(void **state) {
    enum { COUNT = 1 << 20 };
    float *x = malloc(COUNT * sizeof(float));
    assert_non_null(x);
    (void)state;
    for (int i = 0; i < COUNT; i++) x[i] = 0.1f;
    const CpuReducer *sum = cpu_reducer_find(CPU_LEVEL_PORTABLE, CPU_REDUCE_SUM, DTYPE_FLOAT32);
    CpuTotal total = sum->identity;
    sum->rows(&total, x, 1, COUNT, COUNT);
    assert_true(fabs(total.f64 / (COUNT * (double)0.1f) - 1) < 1e-6);
    CpuTotal columns[4] = {sum->identity, sum->identity, sum->identity, sum->identity};
    sum->columns(columns, x, 4, COUNT / 4, 4);
    for (int i = 0; i < 4; i++)
        assert_true(fabs(columns[i].f64 / (COUNT / 4 * (double)0.1f) - 1) < 1e-6);
    free(x);
}

static void test_a_nan_is_the_extreme_wherever_it_stands(void **state) {
    (void)state;
    float x[100];
    for (int at = 0; at < 100; at++) {
        for (int i = 0; i < 100; i++) x[i] = (float)i;
        x[at] = NAN;
        for (CpuReduction reduction = CPU_REDUCE_MAX; reduction <= CPU_REDUCE_MIN; reduction++) {
            const CpuReducer *reducer =
                cpu_reducer_find(CPU_LEVEL_PORTABLE, reduction, DTYPE_FLOAT32);
            CpuTotal total = reducer->identity;
            reducer->rows(&total, x, 1, 100, 100);
            assert_true(isnan(total.f64));
        }
    }
}

int test_cpu_loops_reduce(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reductions_have_the_same_bits_at_every_level),
        cmocka_unit_test(test_long_sums_stay_accurate),
        cmocka_unit_test(test_a_nan_is_the_extreme_wherever_it_stands),
    };
    return cmocka_run_group_tests_name("cpu_loops_reduce", tests, NULL, NULL);
}
