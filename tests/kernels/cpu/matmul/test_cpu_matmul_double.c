#include <math.h>
#include <stdlib.h>

#include "kernels/cpu/core/cpu_internal.h"
#include "tests/kernels/fixtures/kernel_call.h"

enum { DEPTH_MOST = 300 };

static double *random_doubles(uint64_t seed, int64_t count) {
    double *numbers = malloc((size_t)(count + 1) * sizeof(double));
    assert_non_null(numbers);
    for (int64_t i = 0; i < count; i++) numbers[i] = (double)(int64_t)test_random(&seed) * 0x1p-63;
    return numbers;
}

/* expected = a b + bias; b is [depth, columns], or [columns, depth] if transposed. */
static void multiply(const double *a, const double *b, bool transposed, const double *bias,
    int64_t rows, int64_t columns, int64_t depth, double *expected) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            double sum = 0;
            for (int64_t k = 0; k < depth; k++)
                sum = fma(a[i * depth + k], b[transposed ? j * depth + k : k * columns + j], sum);
            expected[i * columns + j] = sum + bias[j];
        }
}

static void check(int64_t rows, int64_t columns, int64_t depth, bool transposed) {
    double *a = random_doubles(1, rows * depth), *b = random_doubles(2, depth * columns);
    double *bias = random_doubles(3, columns), *expected = random_doubles(4, rows * columns);
    multiply(a, b, transposed, bias, rows, columns, depth, expected);
    const KernelCall call = {.name = "Gemm",
        .attributes = transposed ? "{transB=1}" : NULL,
        .input_count = 3,
        .output_count = 1,
        .inputs = {{DTYPE_FLOAT64, {2, {rows, depth}}, a},
            {DTYPE_FLOAT64, {2, {transposed ? columns : depth, transposed ? depth : columns}}, b},
            {DTYPE_FLOAT64, {1, {columns}}, bias}}};
    KernelResult result;
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    if (((CpuDevice *)kernel_cpu_device())->level == CPU_LEVEL_PORTABLE)
        kernel_check_close(&result, 0, expected, 1e-13);
    else
        assert_memory_equal(result.data[0], expected, result.bytes[0]);
    kernel_result_deinit(&result);
    free(a);
    free(b);
    free(bias);
    free(expected);
}

static void test_products_of_doubles_are_chains_of_fused_multiply_adds(void **state) {
    static const int64_t rows[] = {1, 2, 7, 8, 73}, columns[] = {1, 2, 3, 5, 12, 16, 17, 70};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t j = 0; j < sizeof columns / sizeof *columns; j++)
            for (int transposed = 0; transposed < 2; transposed++)
                check(rows[i], columns[j], 5, transposed);
}

static void test_deep_products_of_doubles_are_cut_without_a_trace(void **state) {
    (void)state;
    check(9, 1, DEPTH_MOST, false);
    check(3, 16, 2 * 256, false);
    check(9, 21, DEPTH_MOST, true);
}

/* Sums that a tile does not finish itself: with an activation, a residual, a bias of each row. */
static void test_products_of_doubles_take_every_end(void **state) {
    (void)state;
    enum { M = 9, N = 18, K = 4 };
    double *a = random_doubles(1, M * K), *b = random_doubles(2, K * N);
    double *bias = random_doubles(3, M), *residual = random_doubles(4, M * N);
    double none[N] = {0}, expected[M * N];
    multiply(a, b, false, none, M, N, K, expected);
    for (int i = 0; i < M * N; i++) expected[i] = tanh(expected[i] + bias[i / N] + residual[i]);
    const KernelCall call = {.name = "FusedMatMul",
        .attributes = "{activation=\"tanh\"}",
        .input_count = 4,
        .output_count = 1,
        .inputs = {{DTYPE_FLOAT64, {2, {M, K}}, a}, {DTYPE_FLOAT64, {2, {K, N}}, b},
            {DTYPE_FLOAT64, {2, {M, 1}}, bias}, {DTYPE_FLOAT64, {2, {M, N}}, residual}}};
    KernelResult result;
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    kernel_check_close(&result, 0, expected, 1e-13);
    kernel_result_deinit(&result);
    free(a);
    free(b);
    free(bias);
    free(residual);
}

static void test_products_of_doubles_without_depth_are_the_bias(void **state) {
    (void)state;
    check(9, 3, 0, false);
    check(1, 1, 0, false);
}

int test_cpu_matmul_double(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_of_doubles_are_chains_of_fused_multiply_adds),
        cmocka_unit_test(test_deep_products_of_doubles_are_cut_without_a_trace),
        cmocka_unit_test(test_products_of_doubles_take_every_end),
        cmocka_unit_test(test_products_of_doubles_without_depth_are_the_bias),
    };
    return cmocka_run_group_tests_name("cpu_matmul_double", tests, NULL, NULL);
}
