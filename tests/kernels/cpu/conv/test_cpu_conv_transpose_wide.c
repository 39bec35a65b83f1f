#include <math.h>

#include "tests/kernels/fixtures/everywhere.h"

static void test_it_gives_what_float32_gives_but_for_rounding(void **state) {
    static const char attributes[] =
        "{group=2, strides=[2, 1], dilations=[1, 2], pads=[1, 0, 0, 1], output_padding=[1, 0]}";
    const Shape x = {4, {2, 4, 5, 6}}, w = {4, {4, 3, 3, 2}}, bias = {1, {6}};
    (void)state;
    Tensor *wide = NULL, *narrow = NULL;
    DeviceCall calls[2];
    for (int i = 0; i < 2; i++) {
        const DType dtype = i ? DTYPE_FLOAT32 : DTYPE_FLOAT64;
        calls[i] = (DeviceCall){
            .operator_name = "ConvTranspose", .attributes = attributes, .input_count = 3};
        calls[i].inputs[0] = device_tensor_random(dtype, &x, -1, 1, 1);
        calls[i].inputs[1] = device_tensor_random(dtype, &w, -1, 1, 2);
        calls[i].inputs[2] = device_tensor_random(dtype, &bias, -1, 1, 3);
    }
    everywhere_run(&calls[0], &wide);
    calls[1].device = everywhere_cpu();
    assert_ok(device_call_run(&calls[1], &narrow, NULL));
    assert_true(shape_equal(&wide->shape, &narrow->shape));
    for (int64_t i = 0; i < shape_count_unchecked(&wide->shape); i++)
        assert_true(fabs(device_tensor_get(wide, i) - device_tensor_get(narrow, i)) < 1e-5);
    tensor_release(wide);
    tensor_release(narrow);
    everywhere_release(&calls[0]);
    everywhere_release(&calls[1]);
}

int test_cpu_conv_transpose_wide(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_gives_what_float32_gives_but_for_rounding),
    };
    return cmocka_run_group_tests_name("cpu_conv_transpose_wide", tests, NULL, NULL);
}
