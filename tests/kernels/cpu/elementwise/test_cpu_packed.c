#include "tests/kernels/fixtures/everywhere.h"

/* What the operator does with bytes of these numbers, it does with packed elements, too. */
static void check_shape_like_bytes(const Shape *shape, const char *operator_name,
    const char *attributes, uint32_t data_count, Tensor *const *others, uint32_t other_count) {
    static const DType dtypes[] = {
        DTYPE_INT4, DTYPE_UINT4, DTYPE_INT2, DTYPE_UINT2, DTYPE_FLOAT4E2M1, DTYPE_FLOAT6E2M3};
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
        Tensor *packed = NULL, *bytes = NULL;
        DeviceCall call = {.operator_name = operator_name, .attributes = attributes};
        call.input_count = data_count + other_count;
        for (uint32_t i = 0; i < data_count; i++)
            call.inputs[i] = device_tensor_random(dtypes[d], shape, 0, 1, i + 1);
        for (uint32_t i = 0; i < other_count; i++)
            call.inputs[data_count + i] = tensor_retain(others[i]);
        everywhere_run(&call, &packed);
        everywhere_release(&call);
        for (uint32_t i = 0; i < data_count; i++) {
            Tensor *from = device_tensor_random(dtypes[d], shape, 0, 1, i + 1);
            call.inputs[i] = device_tensor_random(DTYPE_FLOAT32, shape, 0, 1, 1);
            for (int64_t k = 0; k < shape_count_unchecked(shape); k++)
                ((float *)tensor_data(call.inputs[i]))[k] = (float)device_tensor_get(from, k);
            tensor_release(from);
        }
        for (uint32_t i = 0; i < other_count; i++)
            call.inputs[data_count + i] = tensor_retain(others[i]);
        everywhere_run(&call, &bytes);
        everywhere_release(&call);
        assert_int_equal(packed->dtype, dtypes[d]);
        assert_true(shape_equal(&packed->shape, &bytes->shape));
        for (int64_t k = 0; k < shape_count_unchecked(&bytes->shape); k++)
            assert_true(device_tensor_get(packed, k) == device_tensor_get(bytes, k));
        tensor_release(packed);
        tensor_release(bytes);
    }
}

static void check_like_bytes(const char *operator_name, const char *attributes, uint32_t data_count,
    Tensor *const *others, uint32_t other_count) {
    const Shape shape = {2, {37, 53}};
    check_shape_like_bytes(&shape, operator_name, attributes, data_count, others, other_count);
}

static Tensor *ints(uint32_t count, const double *values) {
    return device_tensor(DTYPE_INT64, values, 1, (int)count);
}

static void test_packed_elements_move_as_bytes_do(void **state) {
    (void)state;
    Tensor *pads = ints(4, (double[]){1, 2, 0, -3}), *index = ints(3, (double[]){36, 0, -2});
    Tensor *starts = ints(2, (double[]){3, 50}), *ends = ints(2, (double[]){30, 1});
    Tensor *axes = ints(2, (double[]){0, 1}), *steps = ints(2, (double[]){2, -3});
    Tensor *times = ints(2, (double[]){2, 3}), *slice[] = {starts, ends, axes, steps};
    check_like_bytes("Transpose", "{perm=[1, 0]}", 1, NULL, 0);
    check_like_bytes("Pad", NULL, 1, &pads, 1);
    check_like_bytes("Pad", "{mode=\"reflect\"}", 1, &pads, 1);
    check_like_bytes("Gather", "{axis=0}", 1, &index, 1);
    /* rows of whole bytes, and columns that are none */
    const Shape rows = {3, {37, 2, 8}}, square = {2, {40, 40}};
    check_shape_like_bytes(&rows, "Gather", "{axis=0}", 1, &index, 1);
    check_shape_like_bytes(&square, "Gather", "{axis=-1}", 1, &index, 1);
    check_like_bytes("Slice", NULL, 1, slice, 4);
    check_like_bytes("Tile", NULL, 1, &times, 1);
    check_like_bytes("Concat", "{axis=1}", 3, NULL, 0);
    Tensor *all[] = {pads, index, starts, ends, axes, steps, times};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) tensor_release(all[i]);
}

static void test_packed_splits_fill_every_output(void **state) {
    DeviceCall call = {.operator_name = "Split",
        .attributes = "{num_outputs=2}",
        .input_count = 1,
        .output_count = 2};
    Tensor *outputs[DEVICE_CALL_OUTPUTS_MAX] = {NULL};
    (void)state;
    call.inputs[0] = device_tensor(DTYPE_INT4, (double[]){1, 2, 3, 4, -5}, 1, 5);
    everywhere_run(&call, outputs);
    everywhere_compare(outputs[0], (double[]){1, 2, 3}, 0);
    everywhere_compare(outputs[1], (double[]){4, -5}, 0);
    tensor_release(outputs[0]);
    tensor_release(outputs[1]);
    everywhere_release(&call);
}

static void test_a_packed_constant_fills_a_shape(void **state) {
    DeviceCall call = {.operator_name = "ConstantOfShape",
        .attributes = "{value=tensor(int2, [1], \"02\")}",
        .input_count = 1};
    (void)state;
    call.inputs[0] = ints(1, (double[]){5});
    everywhere_check(&call, (double[]){-2, -2, -2, -2, -2}, 0);
    everywhere_release(&call);
}

static void test_an_index_out_of_range_is_refused_for_packed_elements(void **state) {
    DeviceCall call = {.device = everywhere_cpu(), .operator_name = "Gather", .input_count = 2};
    Tensor *outputs[DEVICE_CALL_OUTPUTS_MAX] = {NULL};
    (void)state;
    call.inputs[0] = device_tensor(DTYPE_INT4, (double[]){1, 2, 3}, 1, 3);
    call.inputs[1] = ints(1, (double[]){3});
    assert_fails_saying(FAILED, "Gather", device_call_run(&call, outputs, NULL));
    everywhere_release(&call);
}

int test_cpu_packed(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packed_elements_move_as_bytes_do),
        cmocka_unit_test(test_packed_splits_fill_every_output),
        cmocka_unit_test(test_a_packed_constant_fills_a_shape),
        cmocka_unit_test(test_an_index_out_of_range_is_refused_for_packed_elements),
    };
    return cmocka_run_group_tests_name("cpu_packed", tests, NULL, NULL);
}
