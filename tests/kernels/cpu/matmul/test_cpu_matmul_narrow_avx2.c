#include "kernels/cpu/matmul/cpu_matmul_narrow.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/cpu/core/cpu_internal.h"
#include "tests/kernels/fixtures/kernel_call.h"

/* The chain of cpu_matmul_kernel.h. */
static float chain(const float *a, const float *b, int64_t b_row, int64_t depth) {
    float sum = 0;
    for (int64_t k = 0; k < depth; k++) sum = fmaf(a[k], b[k * b_row], sum);
    return sum;
}

static void check_narrow(int64_t rows, int64_t columns, int64_t depth) {
    float *a = kernel_random_floats(1, rows * depth + 1);
    float *b = kernel_random_floats(2, columns * depth + 1);
    float *bias = kernel_random_floats(3, columns), to[32 * CPU_NARROW_COLUMNS_MAX + 1];
    const CpuNarrow narrow = {.rows = rows,
        .columns = columns,
        .depth = depth,
        .a = a,
        .a_row = depth,
        .b = b,
        .b_row = 1,
        .b_column = depth,
        .bias = bias,
        .bias_column = 1,
        .relu = true,
        .to = to};
    to[rows * columns] = 99;
    cpu_matmul_narrow(&narrow);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            const float sum = chain(a + i * depth, b + j * depth, 1, depth) + bias[j];
            assert_true(to[i * columns + j] == (sum < 0 ? 0 : sum));
        }
    assert_true(to[rows * columns] == 99);
    free(a);
    free(b);
    free(bias);
}

static void test_rows_are_lanes(void **state) {
    (void)state;
    if (((CpuDevice *)kernel_cpu_device())->level < CPU_LEVEL_AVX2) skip();
    for (int64_t columns = 1; columns <= CPU_NARROW_COLUMNS_MAX; columns++)
        for (int64_t depth = 0; depth < 19; depth += 3)
            for (int64_t rows = 1; rows <= 25; rows += 8) check_narrow(rows, columns, depth);
}

int test_cpu_matmul_narrow_avx2(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_lanes),
    };
    return cmocka_run_group_tests_name("cpu_matmul_narrow_avx2", tests, NULL, NULL);
}
