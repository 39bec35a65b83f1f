#include <math.h>

#include "tests/kernels/fixtures/everywhere.h"

static DeviceCall call_of(const char *name, const char *attributes, DType dtype,
    const double *regions, int count, int columns) {
    static const double x[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    DeviceCall call = {.operator_name = name, .attributes = attributes, .input_count = 2};
    call.inputs[0] = device_tensor(dtype, x, 4, 1, 1, 4, 4);
    call.inputs[1] = device_tensor(dtype, regions, 2, count, columns);
    return call;
}

static void align(
    const char *attributes, DType dtype, const double *regions, int count, const double *expected) {
    static const double images[4] = {0};
    DeviceCall call = call_of("RoiAlign", attributes, dtype, regions, count, 4);
    call.input_count = 3;
    call.inputs[2] = device_tensor(DTYPE_INT64, images, 1, count);
    everywhere_check(&call, expected, 1e-6);
    everywhere_release(&call);
}

static void test_samples_of_a_region_are_averaged(void **state) {
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_BFLOAT16};
    (void)state;
    for (size_t i = 0; i < 3; i++)
        align("{output_height=2, output_width=2, sampling_ratio=1}", dtypes[i],
            (double[]){0, 0, 4, 4, 1, 1, 3, 3}, 2, (double[]){3.5, 5.5, 11.5, 13.5, 6, 7, 10, 11});
}

/* However large: samples outside are not looked at one by one. */
static void test_regions_beyond_the_image_end(void **state) {
    const double nothing = (double)NAN, endless = (double)INFINITY;
    (void)state;
    align(NULL, DTYPE_FLOAT32, (double[]){9, 9, 12, 12, nothing, 0, 1, 1, 0, 0, endless, 2}, 3,
        (double[]){0, 0, 0});
    align("{coordinate_transformation_mode=\"output_half_pixel\", mode=\"max\"}", DTYPE_FLOAT64,
        (double[]){3, 3, 1e6, 1e6, -1e30, -1e30, 3e30, 3e30}, 2, (double[]){16, 0});
    align(NULL, DTYPE_FLOAT32, (double[]){3, 3, 1, 1}, 1, (double[]){0}); /* turned around */
}

/* Channels of several groups, bins of as many samples as a table of them has, and of more. In a
 * plane that rises evenly a bin's average is the value at its centre. */
static void test_any_number_of_channels_and_samples_gives_the_average(void **state) {
    enum { CHANNELS = 70, SIDE = 8, BINS = 4 };
    static const char *const attributes[] = {"{output_height=2, output_width=2, sampling_ratio=3}",
        "{output_height=2, output_width=2, sampling_ratio=16}",
        "{output_height=2, output_width=2, sampling_ratio=20}"};
    static const double region[4] = {1.5, 1.5, 5.5, 5.5}, image[1] = {0};
    static double x[CHANNELS * SIDE * SIDE], expected[CHANNELS * BINS];
    (void)state;
    for (int c = 0; c < CHANNELS; c++) {
        for (int i = 0; i < SIDE * SIDE; i++) x[c * SIDE * SIDE + i] = c + i;
        for (int i = 0; i < BINS; i++)
            expected[c * BINS + i] = c + (2 + 2 * (i / 2)) * SIDE + 2 + 2 * (i % 2);
    }
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
        DeviceCall call = {
            .operator_name = "RoiAlign", .attributes = attributes[i], .input_count = 3};
        call.inputs[0] = device_tensor(DTYPE_FLOAT32, x, 4, 1, CHANNELS, SIDE, SIDE);
        call.inputs[1] = device_tensor(DTYPE_FLOAT32, region, 2, 1, 4);
        call.inputs[2] = device_tensor(DTYPE_INT64, image, 1, 1);
        everywhere_check(&call, expected, 1e-6);
        everywhere_release(&call);
    }
}

static void test_max_roi_pool_takes_whole_elements(void **state) {
    static const double regions[15] = {0, 0, 0, 3, 3, 0, 2, 2, 2, 2, 0, -9, -9, -5, -5};
    (void)state;
    DeviceCall call = call_of("MaxRoiPool", "{pooled_shape=[2, 2]}", DTYPE_FLOAT32, regions, 3, 5);
    everywhere_check(&call, (double[]){6, 8, 14, 16, 11, 11, 11, 11, 0, 0, 0, 0}, 0);
    everywhere_release(&call);
}

static void test_an_image_outside_is_an_error(void **state) {
    static const double images[2] = {0, 1}, regions[10] = {0, 0, 0, 1, 1, -1, 0, 0, 1, 1};
    Tensor *out = NULL;
    (void)state;
    DeviceCall call = call_of("RoiAlign", NULL, DTYPE_FLOAT32, regions, 2, 4);
    call.device = everywhere_cpu();
    call.input_count = 3;
    call.inputs[2] = device_tensor(DTYPE_INT64, images, 1, 2);
    assert_fails_saying(FAILED, "RoiAlign: image 1 of region 1 is outside [0, 0]",
        device_call_run(&call, &out, NULL));
    everywhere_release(&call);
    call = call_of("MaxRoiPool", "{pooled_shape=[1, 1]}", DTYPE_FLOAT32, regions, 2, 5);
    call.device = everywhere_cpu();
    assert_fails_saying(FAILED, "MaxRoiPool: image -1 of region 1 is outside [0, 0]",
        device_call_run(&call, &out, NULL));
    everywhere_release(&call);
}

int test_cpu_roi(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples_of_a_region_are_averaged),
        cmocka_unit_test(test_regions_beyond_the_image_end),
        cmocka_unit_test(test_any_number_of_channels_and_samples_gives_the_average),
        cmocka_unit_test(test_max_roi_pool_takes_whole_elements),
        cmocka_unit_test(test_an_image_outside_is_an_error),
    };
    return cmocka_run_group_tests_name("cpu_roi", tests, NULL, NULL);
}
