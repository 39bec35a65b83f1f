#include <math.h>
#include <stdlib.h>

#include "tests/kernels/fixtures/kernel_call.h"

static void check_batch(Shape shape) {
    const int64_t count = shape_count_unchecked(&shape), channels = shape.dims[1];
    const int64_t pixels = shape_product(&shape, 2, shape.rank);
    float *x = kernel_random_floats(1, count), *scale = kernel_random_floats(2, channels);
    float *bias = kernel_random_floats(3, channels), *mean = kernel_random_floats(4, channels);
    float *variance = kernel_random_floats(5, channels);
    for (int64_t i = 0; i < channels; i++) variance[i] = fabsf(variance[i]) + 0.1f;
    const Shape one = {1, {channels}};
    const KernelCall call = {.name = "BatchNormalization",
        .attributes = "{epsilon=0.01}",
        .input_count = 5,
        .output_count = 1,
        .inputs = {{DTYPE_FLOAT32, shape, x}, {DTYPE_FLOAT32, one, scale},
            {DTYPE_FLOAT32, one, bias}, {DTYPE_FLOAT32, one, mean},
            {DTYPE_FLOAT32, one, variance}}};
    double *expected = malloc((size_t)count * sizeof(double) + 8);
    assert_non_null(expected);
    for (int64_t i = 0; i < count; i++) {
        const int64_t c = i / pixels % channels;
        expected[i] =
            ((double)x[i] - (double)mean[c]) / sqrt((double)variance[c] + 0.01) * (double)scale[c] +
            (double)bias[c];
    }
    KernelResult result;
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    kernel_check_close(&result, 0, expected, 1e-5);
    kernel_result_deinit(&result);
    free(expected);
    free(x);
    free(scale);
    free(bias);
    free(mean);
    free(variance);
}

static void test_batch_normalization_scales_each_channel(void **state) {
    (void)state;
    check_batch((Shape){4, {2, 5, 9, 7}});
    check_batch((Shape){2, {6, 33}});
    check_batch((Shape){3, {1, 3, 40}});
    check_batch((Shape){3, {2, 3, 0}});
}

int test_cpu_normalization_channels(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch_normalization_scales_each_channel),
    };
    return cmocka_run_group_tests_name("cpu_normalization_channels", tests, NULL, NULL);
}
