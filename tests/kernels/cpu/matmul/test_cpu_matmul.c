#include <stdio.h>
#include <stdlib.h>

#include "tests/kernels/fixtures/kernel_call.h"

/* A matrix product with strides, so that one loop serves all three operators. */
typedef struct Product {
    int64_t batch, m, n, k;
    int64_t a_batch, a_row, a_column, b_batch, b_row, b_column;
} Product;

static double *naive(const Product *p, const float *a, const float *b) {
    double *c = calloc((size_t)(p->batch * p->m * p->n) + 1, sizeof(double));
    assert_non_null(c);
    for (int64_t i = 0; i < p->batch * p->m * p->n; i++) {
        const int64_t batch = i / (p->m * p->n), row = i / p->n % p->m, column = i % p->n;
        for (int64_t k = 0; k < p->k; k++)
            c[i] += (double)a[batch * p->a_batch + row * p->a_row + k * p->a_column] *
                    (double)b[batch * p->b_batch + k * p->b_row + column * p->b_column];
    }
    return c;
}

static void check_matmul(int64_t batch, int64_t m, int64_t n, int64_t k, bool shared_b) {
    float *a = kernel_random_floats(1, batch * m * k);
    float *b = kernel_random_floats(2, batch * n * k);
    const KernelCall call = {
        .name = "MatMul",
        .input_count = 2,
        .output_count = 1,
        .inputs = {{DTYPE_FLOAT32, {3, {batch, m, k}}, a},
            {DTYPE_FLOAT32, shared_b ? (Shape){2, {k, n}} : (Shape){3, {batch, k, n}}, b}},
    };
    const Product product = {batch, m, n, k, m * k, k, 1, shared_b ? 0 : k * n, n, 1};
    double *expected = naive(&product, a, b);
    KernelResult result, portable;
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    kernel_check_close(&result, 0, expected, 1e-5);
    const bool packed = kernel_call_check_packed(kernel_cpu_device(), &call, 2, &result);
    assert_int_equal(packed, n >= 32 && k > 0 && batch > 0);
    kernel_call_check_bits(kernel_portable_device(), &call, &portable);
    kernel_check_close(&portable, 0, expected, 1e-5);
    kernel_result_deinit(&result);
    kernel_result_deinit(&portable);
    free(expected);
    free(a);
    free(b);
}

static void test_matmul_agrees_with_a_naive_product_for_odd_shapes(void **state) {
    (void)state;
    static const int64_t sizes[] = {0, 1, 2, 7, 16, 33, 64, 65, 130};
    enum { COUNT = sizeof sizes / sizeof sizes[0] };
    for (int m = 0; m < COUNT; m++)
        for (int n = 0; n < COUNT; n++) {
            const int64_t k = sizes[(m * 5 + n * 3) % COUNT];
            check_matmul(1, sizes[m], sizes[n], k, false);
        }
    check_matmul(3, 5, 17, 31, false);
    check_matmul(3, 5, 40, 31, true);
    check_matmul(2, 100, 70, 600, true);
    check_matmul(1, 1, 200, 1000, true);
    check_matmul(0, 4, 40, 8, false);
}

static void test_matmul_takes_vectors_and_broadcasts_batches(void **state) {
    (void)state;
    float *a = kernel_random_floats(5, 1000), *b = kernel_random_floats(6, 5000);
    KernelCall call = {.name = "MatMul", .input_count = 2, .output_count = 1};
    KernelResult result;
    const Product vectors[] = {{1, 1, 1, 9, 0, 0, 1, 0, 1, 0}, {1, 1, 40, 9, 0, 0, 1, 0, 40, 1},
        {1, 7, 1, 9, 0, 9, 1, 0, 1, 0}};
    const Shape a_shapes[] = {{1, {9}}, {1, {9}}, {2, {7, 9}}};
    const Shape b_shapes[] = {{1, {9}}, {2, {9, 40}}, {1, {9}}};
    for (int i = 0; i < 3; i++) {
        call.inputs[0] = (KernelInput){DTYPE_FLOAT32, a_shapes[i], a};
        call.inputs[1] = (KernelInput){DTYPE_FLOAT32, b_shapes[i], b};
        double *expected = naive(&vectors[i], a, b);
        kernel_call_check_bits(kernel_cpu_device(), &call, &result);
        assert_int_equal(result.shapes[0].rank, i == 0 ? 0 : 1);
        kernel_check_close(&result, 0, expected, 1e-5);
        kernel_result_deinit(&result);
        free(expected);
    }
    /* [2, 1, 5, 6] × [3, 6, 33]: six products */
    call.inputs[0] = (KernelInput){DTYPE_FLOAT32, {4, {2, 1, 5, 6}}, a};
    call.inputs[1] = (KernelInput){DTYPE_FLOAT32, {3, {3, 6, 33}}, b};
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    double expected[2 * 3 * 5 * 33];
    for (int i = 0; i < 6; i++) {
        const Product product = {1, 5, 33, 6, 0, 6, 1, 0, 33, 1};
        double *one = naive(&product, a + i / 3 * 30, b + i % 3 * 6 * 33);
        memcpy(expected + i * 5 * 33, one, 5 * 33 * sizeof(double));
        free(one);
    }
    kernel_check_close(&result, 0, expected, 1e-5);
    assert_true(kernel_call_check_packed(kernel_cpu_device(), &call, 2, &result));
    kernel_result_deinit(&result);
    free(a);
    free(b);
}

static void check_gemm(int trans_a, int trans_b, double alpha, double beta, Shape c_shape) {
    enum { M = 37, N = 70, K = 45 };
    float *a = kernel_random_floats(7, M * K), *b = kernel_random_floats(8, K * N);
    float *c = kernel_random_floats(9, M * N);
    char attributes[128];
    (void)snprintf(attributes, sizeof attributes, "{alpha=%.3f, beta=%.3f, transA=%d, transB=%d}",
        alpha, beta, trans_a, trans_b);
    const KernelCall call = {
        .name = "Gemm",
        .attributes = attributes,
        .input_count = 3,
        .output_count = 1,
        .inputs = {{DTYPE_FLOAT32, trans_a ? (Shape){2, {K, M}} : (Shape){2, {M, K}}, a},
            {DTYPE_FLOAT32, trans_b ? (Shape){2, {N, K}} : (Shape){2, {K, N}}, b},
            {DTYPE_FLOAT32, c_shape, c}},
    };
    const Product product = {
        1, M, N, K, 0, trans_a ? 1 : K, trans_a ? M : 1, 0, trans_b ? 1 : N, trans_b ? K : 1};
    double *expected = naive(&product, a, b);
    int64_t strides[SHAPE_RANK_MAX];
    const Shape y_shape = {2, {M, N}};
    shape_broadcast_strides(&c_shape, &y_shape, strides);
    for (int i = 0; i < M * N; i++)
        expected[i] =
            alpha * expected[i] + beta * (double)c[i / N * strides[0] + i % N * strides[1]];
    KernelResult result;
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    kernel_check_close(&result, 0, expected, 1e-5);
    assert_true(kernel_call_check_packed(kernel_cpu_device(), &call, 2, &result));
    kernel_result_deinit(&result);
    free(expected);
    free(a);
    free(b);
    free(c);
}

static void test_gemm_scales_transposes_and_broadcasts_c(void **state) {
    (void)state;
    const Shape c_shapes[] = {{2, {37, 70}}, {1, {70}}, {2, {37, 1}}, {2, {1, 70}}, {1, {1}}, {0}};
    for (int i = 0; i < 6; i++)
        check_gemm(i & 1, i >> 1 & 1, i == 2 ? 0.5 : 1, i == 3 ? 0 : 1.5, c_shapes[i]);
    check_gemm(1, 1, 1, 1, c_shapes[1]);
}

static void test_fused_matmul_adds_bias_and_residual_before_its_activation(void **state) {
    (void)state;
    enum { B = 2, M = 9, N = 50, K = 300 };
    float *a = kernel_random_floats(10, B * M * K), *b = kernel_random_floats(11, K * N);
    float *bias = kernel_random_floats(12, N), *residual = kernel_random_floats(13, B * M * N);
    KernelCall call = {.name = "FusedMatMul",
        .attributes =
            "{activation=\"clip\", activation_alpha=-1.0, activation_beta=2.0, alpha=0.25}",
        .input_count = 4,
        .output_count = 1,
        .inputs = {{DTYPE_FLOAT32, {3, {B, M, K}}, a}, {DTYPE_FLOAT32, {2, {K, N}}, b},
            {DTYPE_FLOAT32, {1, {N}}, bias}, {DTYPE_FLOAT32, {3, {B, M, N}}, residual}}};
    const Product product = {B, M, N, K, M * K, K, 1, 0, N, 1};
    double *expected = naive(&product, a, b);
    for (int i = 0; i < B * M * N; i++) {
        const double x = 0.25 * expected[i] + (double)bias[i % N] + (double)residual[i];
        expected[i] = x < -1 ? -1 : x > 2 ? 2 : x;
    }
    KernelResult result, in_place;
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    kernel_check_close(&result, 0, expected, 1e-5);
    const KernelMode over_residual = {.threads = 2, .in_place = 3, .packed = 2};
    assert_ok(kernel_call_run(kernel_cpu_device(), &call, over_residual, &in_place));
    assert_true(in_place.was_in_place);
    assert_memory_equal(in_place.data[0], result.data[0], result.bytes[0]);
    kernel_result_deinit(&in_place);
    kernel_result_deinit(&result);
    call.inputs[2] = (KernelInput){DTYPE_NONE, {0}, NULL};
    call.attributes = "{activation=\"gelu_tanh\"}";
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    kernel_result_deinit(&result);
    free(expected);
    free(a);
    free(b);
    free(bias);
    free(residual);
}

/* Each product of integers up to 8 is exact in float16, and so are the sums here. */
static void test_matmul_of_half_types_rounds_once(void **state) {
    (void)state;
    enum { M = 3, N = 33, K = 5 };
    uint16_t a[M * K], b[K * N];
    for (int i = 0; i < M * K; i++) a[i] = (uint16_t)(0x3c00 + 0x400 * (i % 3)); /* 1, 2, 4 */
    for (int i = 0; i < K * N; i++) b[i] = (uint16_t)(0x3c00 + 0x400 * (i % 2)); /* 1, 2 */
    KernelCall call = {.name = "MatMul",
        .input_count = 2,
        .output_count = 1,
        .inputs = {{DTYPE_FLOAT16, {2, {M, K}}, a}, {DTYPE_FLOAT16, {2, {K, N}}, b}}};
    double expected[M * N] = {0};
    for (int i = 0; i < M * N; i++)
        for (int k = 0; k < K; k++)
            expected[i] += (double)((1 << (i / N * K + k) % 3) * (1 << (k * N + i % N) % 2));
    KernelResult result;
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    assert_int_equal(result.dtypes[0], DTYPE_FLOAT16);
    kernel_check_close(&result, 0, expected, 0);
    assert_true(kernel_call_check_packed(kernel_cpu_device(), &call, 2, &result));
    kernel_result_deinit(&result);
}

int test_cpu_matmul(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul_agrees_with_a_naive_product_for_odd_shapes),
        cmocka_unit_test(test_matmul_takes_vectors_and_broadcasts_batches),
        cmocka_unit_test(test_gemm_scales_transposes_and_broadcasts_c),
        cmocka_unit_test(test_fused_matmul_adds_bias_and_residual_before_its_activation),
        cmocka_unit_test(test_matmul_of_half_types_rounds_once),
    };
    return cmocka_run_group_tests_name("cpu_matmul", tests, NULL, NULL);
}
