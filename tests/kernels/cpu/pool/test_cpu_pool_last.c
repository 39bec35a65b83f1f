#include <math.h>

#include "tests/kernels/fixtures/kernel_call.h"

static void check_pool(
    const char *attributes, Shape shape, const float *x, const double *expected) {
    const KernelCall call = {.name = "FusedPool",
        .attributes = attributes,
        .input_count = 1,
        .output_count = 1,
        .inputs = {{DTYPE_FLOAT32, shape, x}}};
    KernelResult result;
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    assert_string_equal(result.kernel_name, "cpu.pool_last");
    kernel_check_close(&result, 0, expected, 1e-6);
    kernel_result_deinit(&result);
}

static void test_pools_combine_each_channel_of_a_window(void **state) {
    (void)state;
    static const float x[] = {1, 10, 2, -20, 3, 30, 4, 40, 5, 50, 6, 60};
    const Shape shape = {4, {1, 2, 3, 2}};
    check_pool(
        "{operator=\"MaxPool\", kernel_shape=[2, 2]}", shape, x, (const double[]){5, 50, 6, 60});
    check_pool("{operator=\"AveragePool\", kernel_shape=[2, 1], strides=[1, 2]}", shape, x,
        (const double[]){2.5, 25, 4.5, 45});
    check_pool("{operator=\"GlobalAveragePool\"}", shape, x, (const double[]){21.0 / 6, 170.0 / 6});
    check_pool("{operator=\"GlobalMaxPool\"}", shape, x, (const double[]){6, 60});
}

static void test_padding_counts_only_where_it_is_asked_to(void **state) {
    (void)state;
    static const float x[] = {1, 2, 3};
    const Shape shape = {3, {1, 3, 1}};
    check_pool("{operator=\"AveragePool\", kernel_shape=[2], pads=[1, 0], strides=[2]}", shape, x,
        (const double[]){1, 2.5});
    check_pool("{operator=\"AveragePool\", count_include_pad=1, kernel_shape=[2], pads=[1, 0], "
               "strides=[2]}",
        shape, x, (const double[]){0.5, 2.5});
    check_pool("{operator=\"MaxPool\", kernel_shape=[3], pads=[2, 2], strides=[3]}", shape, x,
        (const double[]){1, 3});
}

static void test_a_maximum_over_a_nan_is_nan(void **state) {
    (void)state;
    enum { CHANNELS = 19 };
    float x[3 * CHANNELS];
    double expected[CHANNELS];
    for (int i = 0; i < 3 * CHANNELS; i++) x[i] = i % 7 == 3 ? NAN : (float)i;
    for (int c = 0; c < CHANNELS; c++) {
        expected[c] = 2 * CHANNELS + c;
        for (int p = 0; p < 3; p++)
            if ((p * CHANNELS + c) % 7 == 3) expected[c] = NAN;
    }
    check_pool(
        "{operator=\"MaxPool\", kernel_shape=[3]}", (Shape){3, {1, 3, CHANNELS}}, x, expected);
}

int test_cpu_pool_last(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pools_combine_each_channel_of_a_window),
        cmocka_unit_test(test_padding_counts_only_where_it_is_asked_to),
        cmocka_unit_test(test_a_maximum_over_a_nan_is_nan),
    };
    return cmocka_run_group_tests_name("cpu_pool_last", tests, NULL, NULL);
}
