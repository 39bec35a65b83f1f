#include "kernels/cpu/matmul/cpu_matmul_double.h"

#include <math.h>

#include "kernels/cpu/core/cpu_internal.h"
#include "tests/kernels/fixtures/kernel_call.h"

enum { DEPTH = 3, PANEL = CPU_DOUBLE_PANEL, ROWS = 9, APART = 20 };

/* Rows of `to` are APART numbers apart; those behind the columns stay. */
static void check_tile(int64_t rows, int64_t columns) {
    double a[ROWS * DEPTH], b[DEPTH * PANEL], bias[PANEL], sums[ROWS * PANEL] = {0};
    double to[ROWS * APART];
    for (int i = 0; i < ROWS * DEPTH; i++) a[i] = i - 10.25;
    for (int i = 0; i < DEPTH * PANEL; i++) b[i] = 7.5 - i;
    for (int i = 0; i < PANEL; i++) bias[i] = i * 3;
    for (int i = 0; i < ROWS * APART; i++) to[i] = 99;
    const CpuDoubleTile tile = {.rows = rows,
        .columns = columns,
        .depth = DEPTH,
        .a = a,
        .a_row = DEPTH,
        .a_column = 1,
        .b = b,
        .b_row = PANEL,
        .sums = sums,
        .to = to,
        .to_row = APART,
        .bias = bias,
        .relu = true};
    cpu_matmul_double_tile(&tile);
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < APART; j++) {
            double expected = 0;
            for (int64_t k = 0; k < DEPTH && j < PANEL; k++)
                expected = fma(a[i * DEPTH + k], b[k * PANEL + j], expected);
            if (j < PANEL) expected += bias[j];
            if (expected < 0) expected = 0;
            if (i >= rows || j >= columns) expected = 99;
            assert_true(to[i * APART + j] == expected);
        }
}

static void test_tiles_of_doubles_write_their_columns_only(void **state) {
    (void)state;
    if (((CpuDevice *)kernel_cpu_device())->level < CPU_LEVEL_AVX2) skip();
    for (int64_t rows = 1; rows <= ROWS; rows++)
        for (int64_t columns = 1; columns <= PANEL; columns++) check_tile(rows, columns);
}

static void test_a_column_of_doubles_goes_on_from_its_sums(void **state) {
    (void)state;
    if (((CpuDevice *)kernel_cpu_device())->level < CPU_LEVEL_AVX2) skip();
    const double a[4] = {1, 2, 3, 4}, b[4] = {5, 0, 6, 0};
    double out[3] = {10, 20, 99};
    const CpuDoubleColumn column = {.rows = 2,
        .depth = 2,
        .a = a,
        .a_row = 2,
        .a_column = 1,
        .b = b,
        .b_row = 2,
        .accumulate = true};
    cpu_matmul_double_column(&column, out);
    assert_true(out[0] == 27 && out[1] == 59 && out[2] == 99);
}

int test_cpu_matmul_double_avx2(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiles_of_doubles_write_their_columns_only),
        cmocka_unit_test(test_a_column_of_doubles_goes_on_from_its_sums),
    };
    return cmocka_run_group_tests_name("cpu_matmul_double_avx2", tests, NULL, NULL);
}
