#include <math.h>

#include "kernels/shape_rules/operator_infer.h"
#include "tests/kernels/fixtures/everywhere.h"
#include "tests/kernels/fixtures/infer_fixture.h"
#include "tests/kernels/fixtures/kernel_call.h"

/* Without offsets it is a convolution. */
static void test_without_offsets_it_is_a_convolution(void **state) {
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_FLOAT64};
    const Shape x = {4, {2, 4, 9, 11}}, w = {4, {6, 2, 3, 2}}, offsets = {4, {2, 24, 9, 5}};
    const char *attributes = "{group=2, offset_group=2, pads=[1, 0, 1, 0], strides=[1, 2]}";
    const char *plain = "{group=2, pads=[1, 0, 1, 0], strides=[1, 2]}";
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        Tensor *out = NULL, *expected = NULL;
        DeviceCall call = {
            .operator_name = "DeformConv", .attributes = attributes, .input_count = 3};
        call.inputs[0] = device_tensor_random(dtypes[i], &x, -1, 1, 1);
        call.inputs[1] = device_tensor_random(dtypes[i], &w, -1, 1, 2);
        call.inputs[2] = device_tensor_random(dtypes[i], &offsets, 0, 0, 3);
        everywhere_run(&call, &out);
        DeviceCall conv = {.device = everywhere_cpu(),
            .operator_name = "Conv",
            .attributes = plain,
            .input_count = 2,
            .inputs = {call.inputs[0], call.inputs[1]}};
        assert_ok(device_call_run(&conv, &expected, NULL));
        assert_true(shape_equal(&out->shape, &expected->shape));
        for (int64_t k = 0; k < shape_count_unchecked(&out->shape); k++)
            assert_true(fabs(device_tensor_get(out, k) - device_tensor_get(expected, k)) < 1e-5);
        tensor_release(out);
        tensor_release(expected);
        everywhere_release(&call);
    }
}

static void test_offsets_move_the_samples_and_masks_weigh_them(void **state) {
    static const double x[4] = {1, 2, 3, 4}, w[1] = {2}, bias[1] = {10};
    /* rows, then columns: 1 up, half a column to the right, far away */
    static const double offsets[8] = {0, -1, 0, 0, 0, 0, 0.5, 9}, mask[4] = {1, 1, 0.5, 1};
    (void)state;
    DeviceCall call = {.operator_name = "DeformConv", .input_count = 5};
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, x, 4, 1, 1, 2, 2);
    call.inputs[1] = device_tensor(DTYPE_FLOAT32, w, 4, 1, 1, 1, 1);
    call.inputs[2] = device_tensor(DTYPE_FLOAT32, offsets, 4, 1, 2, 2, 2);
    call.inputs[3] = device_tensor(DTYPE_FLOAT32, bias, 1, 1);
    call.inputs[4] = device_tensor(DTYPE_FLOAT32, mask, 4, 1, 1, 2, 2);
    everywhere_check(&call, (double[]){12, 10, 13.5, 10}, 1e-6);
    everywhere_release(&call);
}

static void test_columns_beyond_memory_are_refused(void **state) {
    InferFixture fixture;
    Plan *plan;
    (void)state;
    infer_fixture_init(&fixture, "DeformConv", NULL,
        "float32[1,1000000000000000000,1] float32[1,1000000000000000000,1] float32[1,1,1]", 1);
    assert_ok(operator_infer(&fixture.request));
    Device *device = kernel_cpu_device();
    assert_fails_saying(EXHAUSTED, "the columns of DeformConv",
        device->class_->plan(device, &fixture.request, &plan));
    infer_fixture_deinit(&fixture);
}

int test_cpu_deform_conv(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_offsets_it_is_a_convolution),
        cmocka_unit_test(test_offsets_move_the_samples_and_masks_weigh_them),
        cmocka_unit_test(test_columns_beyond_memory_are_refused),
    };
    return cmocka_run_group_tests_name("cpu_deform_conv", tests, NULL, NULL);
}
