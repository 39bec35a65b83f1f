#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/kernels/fixtures/kernel_call.h"

static double *naive(const float *x, int64_t outer, int64_t size, int64_t inner, bool logarithm) {
    double *y = malloc((size_t)(outer * size * inner) * sizeof(double) + 8);
    assert_non_null(y);
    for (int64_t row = 0; row < outer * inner; row++) {
        const int64_t at = row / inner * size * inner + row % inner;
        double most = -(double)INFINITY, sum = 0;
        for (int64_t i = 0; i < size; i++) most = fmax(most, (double)x[at + i * inner]);
        for (int64_t i = 0; i < size; i++) sum += exp((double)x[at + i * inner] - most);
        for (int64_t i = 0; i < size; i++) {
            const double shifted = (double)x[at + i * inner] - most;
            y[at + i * inner] = logarithm ? shifted - log(sum) : exp(shifted) / sum;
        }
    }
    return y;
}

static void check_softmax(Shape shape, int axis, bool logarithm) {
    const int64_t count = shape_count_unchecked(&shape);
    float *x = kernel_random_floats(1, count);
    for (int64_t i = 0; i < count; i++) x[i] *= 20;
    char attributes[32];
    (void)snprintf(attributes, sizeof attributes, "{axis=%d}", axis);
    const KernelCall call = {.name = logarithm ? "LogSoftmax" : "Softmax",
        .attributes = attributes,
        .input_count = 1,
        .output_count = 1,
        .inputs = {{DTYPE_FLOAT32, shape, x}}};
    const uint32_t at = (uint32_t)(axis < 0 ? axis + (int)shape.rank : axis);
    double *expected = naive(x, shape_product(&shape, 0, at), shape.dims[at],
        shape_product(&shape, at + 1, shape.rank), logarithm);
    KernelResult result, portable;
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    kernel_check_close(&result, 0, expected, 1e-6);
    assert_ok(kernel_call_run(kernel_portable_device(), &call, KERNEL_MODE_PLAIN, &portable));
    assert_memory_equal(portable.data[0], result.data[0], result.bytes[0] + 0);
    kernel_result_deinit(&portable);
    kernel_result_deinit(&result);
    free(expected);
    free(x);
}

/* The same bits at every instruction set, too: the portable device agrees. */
static void test_softmax_agrees_with_the_definition_along_any_axis(void **state) {
    (void)state;
    for (int logarithm = 0; logarithm < 2; logarithm++) {
        check_softmax((Shape){2, {3, 1}}, -1, logarithm);
        check_softmax((Shape){2, {5, 7}}, 1, logarithm);
        check_softmax((Shape){2, {2, 16}}, 1, logarithm);
        check_softmax((Shape){2, {40, 131}}, -1, logarithm);
        check_softmax((Shape){3, {3, 9, 5}}, 1, logarithm);
        check_softmax((Shape){3, {3, 9, 33}}, 0, logarithm);
        check_softmax((Shape){4, {2, 21, 4, 16}}, 1, logarithm);
        check_softmax((Shape){1, {1000}}, 0, logarithm);
        check_softmax((Shape){2, {0, 4}}, 1, logarithm);
        check_softmax((Shape){2, {4, 0}}, 1, logarithm);
    }
}

static void test_softmax_takes_infinities_and_nan(void **state) {
    (void)state;
    const float inf = INFINITY;
    const float x[] = {-inf, 0, -inf, 1, -inf, -inf, -inf, -inf, NAN, 0, 1, 2};
    const double e = exp(1), nan = NAN;
    const double expected[] = {
        0, 1 / (1 + e), 0, e / (1 + e), nan, nan, nan, nan, nan, nan, nan, nan};
    const KernelCall call = {.name = "Softmax",
        .input_count = 1,
        .output_count = 1,
        .inputs = {{DTYPE_FLOAT32, {2, {3, 4}}, x}}};
    KernelResult result;
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    kernel_check_close(&result, 0, expected, 1e-6);
    kernel_result_deinit(&result);
}

int test_cpu_softmax(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_softmax_agrees_with_the_definition_along_any_axis),
        cmocka_unit_test(test_softmax_takes_infinities_and_nan),
    };
    return cmocka_run_group_tests_name("cpu_softmax", tests, NULL, NULL);
}
