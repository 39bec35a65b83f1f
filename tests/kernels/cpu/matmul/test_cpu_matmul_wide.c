#include <stdlib.h>

#include "tests/kernels/fixtures/kernel_call.h"

enum { M = 5, N = 70, K = 33 };

static void test_matmul_of_doubles_is_chains_of_products(void **state) {
    (void)state;
    double a[M * K], b[K * N], bias[N], expected[M * N] = {0};
    uint64_t seed = 1;
    for (int i = 0; i < M * K; i++) a[i] = (double)(int64_t)test_random(&seed) * 0x1p-63;
    for (int i = 0; i < K * N; i++) b[i] = (double)(int64_t)test_random(&seed) * 0x1p-63;
    for (int i = 0; i < N; i++) bias[i] = (double)i;
    for (int i = 0; i < M * N; i++) {
        for (int k = 0; k < K; k++) expected[i] += a[i / N * K + k] * b[k * N + i % N];
        expected[i] += bias[i % N];
        if (expected[i] < 0) expected[i] = 0;
    }
    const KernelCall call = {.name = "FusedMatMul",
        .attributes = "{activation=\"relu\"}",
        .input_count = 3,
        .output_count = 1,
        .inputs = {{DTYPE_FLOAT64, {2, {M, K}}, a}, {DTYPE_FLOAT64, {2, {K, N}}, b},
            {DTYPE_FLOAT64, {1, {N}}, bias}}};
    KernelResult result;
    assert_ok(kernel_call_run(kernel_portable_device(), &call, KERNEL_MODE_PLAIN, &result));
    assert_memory_equal(result.data[0], expected, sizeof expected);
    kernel_result_deinit(&result);
}

static void test_matmul_of_integers_wraps(void **state) {
    (void)state;
    int64_t a[M * K], b[K * N], expected[M * N];
    uint64_t seed = 2;
    for (int i = 0; i < M * K; i++) a[i] = (int64_t)test_random(&seed);
    for (int i = 0; i < K * N; i++) b[i] = (int64_t)test_random(&seed);
    for (int i = 0; i < M * N; i++) {
        uint64_t sum = 0;
        for (int k = 0; k < K; k++) sum += (uint64_t)a[i / N * K + k] * (uint64_t)b[k * N + i % N];
        expected[i] = (int64_t)sum;
    }
    const KernelCall call = {.name = "MatMul",
        .input_count = 2,
        .output_count = 1,
        .inputs = {{DTYPE_INT64, {2, {M, K}}, a}, {DTYPE_INT64, {2, {K, N}}, b}}};
    KernelResult result;
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    assert_memory_equal(result.data[0], expected, sizeof expected);
    kernel_result_deinit(&result);
}

static void test_gemm_of_integers_takes_whole_scales_only(void **state) {
    (void)state;
    const int32_t a[4] = {1, 2, 3, INT32_MAX}, b[4] = {5, 6, 7, 8}, c[2] = {1, 10};
    KernelCall call = {.name = "Gemm",
        .attributes = "{alpha=2.0, beta=3.0, transB=1}",
        .input_count = 3,
        .output_count = 1,
        .inputs = {{DTYPE_INT32, {2, {2, 2}}, a}, {DTYPE_INT32, {2, {2, 2}}, b},
            {DTYPE_INT32, {1, {2}}, c}}};
    const uint32_t most = INT32_MAX;
    const uint32_t expected[4] = {
        2 * 17 + 3, 2 * 23 + 30, 2 * (15 + most * 6) + 3, 2 * (21 + most * 8) + 30};
    KernelResult result;
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    assert_memory_equal(result.data[0], expected, sizeof expected);
    kernel_result_deinit(&result);
    call.attributes = "{alpha=0.5}";
    assert_fails(
        UNSUPPORTED, kernel_call_run(kernel_cpu_device(), &call, KERNEL_MODE_PLAIN, &result));
}

static void test_matmul_of_doubles_takes_empty_matrices(void **state) {
    (void)state;
    const KernelCall call = {.name = "MatMul",
        .input_count = 2,
        .output_count = 1,
        .inputs = {{DTYPE_FLOAT64, {2, {3, 0}}, NULL}, {DTYPE_FLOAT64, {2, {0, 2}}, NULL}}};
    const double expected[6] = {0};
    KernelResult result;
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    assert_memory_equal(result.data[0], expected, sizeof expected);
    kernel_result_deinit(&result);
}

int test_cpu_matmul_wide(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul_of_doubles_is_chains_of_products),
        cmocka_unit_test(test_matmul_of_integers_wraps),
        cmocka_unit_test(test_gemm_of_integers_takes_whole_scales_only),
        cmocka_unit_test(test_matmul_of_doubles_takes_empty_matrices),
    };
    return cmocka_run_group_tests_name("cpu_matmul_wide", tests, NULL, NULL);
}
