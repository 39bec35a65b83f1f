#include "tests/kernels/fixtures/everywhere.h"

static Tensor *scalar(DType dtype, double value) { return device_tensor(dtype, &value, 0); }

/* Scales of 1, zero points x_zero and w_zero, no bias. */
static void give_scales(DeviceCall *call, DType w_dtype, double x_zero, double w_zero) {
    call->inputs[1] = scalar(DTYPE_FLOAT32, 1);
    call->inputs[2] = scalar(DTYPE_UINT8, x_zero);
    call->inputs[4] = scalar(DTYPE_FLOAT32, 1);
    call->inputs[5] = scalar(w_dtype, w_zero);
    call->inputs[6] = scalar(DTYPE_FLOAT32, 1);
    call->inputs[7] = scalar(DTYPE_INT8, 0);
}

/* One image [2, 2, 3], two filters of one pixel: the channels of a pixel lie together, and the
 * weights are those of ONNX. */
static void test_images_have_their_channels_last(void **state) {
    (void)state;
    DeviceCall call = {
        .operator_name = "FusedQLinearConv", .attributes = "{channels_last=1}", .input_count = 8};
    static const double x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    call.inputs[0] = device_tensor(DTYPE_UINT8, x, 4, 1, 2, 2, 3);
    call.inputs[3] = device_tensor(DTYPE_INT8, (double[]){1, 0, 1, 0, -2, 1}, 4, 2, 3, 1, 1);
    give_scales(&call, DTYPE_INT8, 1, 0);
    everywhere_check(&call, (double[]){2, 0, 8, -3, 14, -6, 20, -9}, 0);
    everywhere_release(&call);
}

/* Each channel has its filter, whose weights have a zero point of their own. */
static void test_a_group_for_each_channel(void **state) {
    (void)state;
    DeviceCall call = {.operator_name = "FusedQLinearConv",
        .attributes = "{channels_last=1, group=2, pads=[0, 1, 0, 0]}",
        .input_count = 8};
    call.inputs[0] = device_tensor(DTYPE_UINT8, (double[]){11, 12, 13, 14, 15, 16}, 4, 1, 1, 3, 2);
    call.inputs[3] = device_tensor(DTYPE_UINT8, (double[]){9, 11, 12, 10}, 4, 2, 1, 1, 2);
    give_scales(&call, DTYPE_UINT8, 10, 10);
    /* x less 10: 1 3 5 and 2 4 6; weights less 10: -1 1 and 2 0 */
    everywhere_check(&call, (double[]){1, 0, 2, 4, 2, 8}, 0);
    everywhere_release(&call);
}

int test_cpu_bytes_conv(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_images_have_their_channels_last),
        cmocka_unit_test(test_a_group_for_each_channel),
    };
    return cmocka_run_group_tests_name("cpu_bytes_conv", tests, NULL, NULL);
}
