#include "tests/kernels/fixtures/everywhere.h"

static Tensor *scalar(DType dtype, double value) { return device_tensor(dtype, &value, 0); }

static void check_conv(const char *attributes, const double *expected) {
    static const double x[] = {2, 3, 4, 5, 6, 7, 8, 9, 10}, w[] = {1, 1, 1, 1};
    DeviceCall call = {.operator_name = "ConvInteger", .attributes = attributes, .input_count = 3};
    call.inputs[0] = device_tensor(DTYPE_UINT8, x, 4, 1, 1, 3, 3);
    call.inputs[1] = device_tensor(DTYPE_UINT8, w, 4, 1, 1, 2, 2);
    call.inputs[2] = scalar(DTYPE_UINT8, 1);
    everywhere_check(&call, expected, 0);
    everywhere_release(&call);
}

static void test_what_lies_beside_the_input_is_its_zero_point(void **state) {
    (void)state;
    check_conv(NULL, (double[]){12, 16, 24, 28});
    check_conv(
        "{pads=[1, 1, 1, 1]}", (double[]){1, 3, 5, 3, 5, 12, 16, 9, 11, 24, 28, 15, 7, 15, 17, 9});
    check_conv("{pads=[1, 1, 0, 0], strides=[2, 2]}", (double[]){1, 5, 11, 28});
}

static void test_every_filter_has_its_zero_point_scale_and_bias(void **state) {
    DeviceCall call = {.operator_name = "QLinearConv", .attributes = "{group=2}", .input_count = 9};
    (void)state;
    call.inputs[0] = device_tensor(DTYPE_UINT8, (double[]){10, 20, 30, 40}, 3, 1, 2, 2);
    call.inputs[1] = scalar(DTYPE_FLOAT32, 0.5);
    call.inputs[2] = scalar(DTYPE_UINT8, 10);
    call.inputs[3] = device_tensor(DTYPE_INT8, (double[]){1, 3}, 3, 2, 1, 1);
    call.inputs[4] = device_tensor(DTYPE_FLOAT32, (double[]){1, 0.25}, 1, 2);
    call.inputs[5] = device_tensor(DTYPE_INT8, (double[]){0, 1}, 1, 2);
    call.inputs[6] = scalar(DTYPE_FLOAT32, 0.5);
    call.inputs[7] = scalar(DTYPE_INT8, -5);
    call.inputs[8] = device_tensor(DTYPE_INT32, (double[]){3, 400}, 1, 2);
    /* sums 0, 10 and 40, 60 with the bias 3, 13 and 440, 460; times 1 and 1/4 */
    everywhere_check(&call, (double[]){-2, 8, 105, 110}, 0);
    everywhere_release(&call);
}

int test_cpu_integer_conv(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_lies_beside_the_input_is_its_zero_point),
        cmocka_unit_test(test_every_filter_has_its_zero_point_scale_and_bias),
    };
    return cmocka_run_group_tests_name("cpu_integer_conv", tests, NULL, NULL);
}
