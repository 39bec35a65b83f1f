#include "tests/kernels/fixtures/everywhere.h"

/* The same calls in float64 and float32 agree to float32's precision. */
static void check(const char *name, const char *attributes, int64_t gates, bool peepholes) {
    const int64_t hidden = 5, directions = 2;
    const double lengths[3] = {4, 0, 2};
    const Shape shapes[] = {{3, {4, 3, 6}}, {3, {directions, gates * hidden, 6}},
        {3, {directions, gates * hidden, hidden}}, {2, {directions, 2 * gates * hidden}}, {0},
        {3, {directions, 3, hidden}}, {3, {directions, 3, hidden}}, {2, {directions, 3 * hidden}}};
    DeviceCall wide = {.operator_name = name,
        .attributes = attributes,
        .input_count = peepholes ? 8 : 6,
        .output_count = peepholes ? 3 : 2};
    DeviceCall narrow = wide;
    narrow.device = everywhere_cpu();
    for (uint32_t i = 0; i < wide.input_count; i++) {
        if (i == 4) {
            wide.inputs[i] = device_tensor(DTYPE_INT32, lengths, 1, 3);
            narrow.inputs[i] = device_tensor(DTYPE_INT32, lengths, 1, 3);
            continue;
        }
        narrow.inputs[i] = device_tensor_random(DTYPE_FLOAT32, &shapes[i], -1, 1, i);
        double values[512];
        const int64_t count = shape_count_unchecked(&shapes[i]);
        assert_true(count <= 512);
        for (int64_t j = 0; j < count; j++) values[j] = device_tensor_get(narrow.inputs[i], j);
        OWN(Tensor, flat) = device_tensor(DTYPE_FLOAT64, values, 1, (int)count);
        assert_ok(tensor_reshape(flat, &shapes[i], &wide.inputs[i]));
    }
    Tensor *one[DEVICE_CALL_OUTPUTS_MAX] = {0}, *other[DEVICE_CALL_OUTPUTS_MAX] = {0};
    everywhere_run(&wide, one);
    assert_ok(device_call_run(&narrow, other, NULL));
    for (uint32_t i = 0; i < wide.output_count; i++) {
        assert_int_equal(one[i]->dtype, DTYPE_FLOAT64);
        for (int64_t j = 0; j < shape_count_unchecked(&one[i]->shape); j++)
            assert_float_equal(device_tensor_get(one[i], j), device_tensor_get(other[i], j), 1e-5);
        tensor_release(one[i]), tensor_release(other[i]);
    }
    everywhere_release(&wide);
    everywhere_release(&narrow);
}

static void test_networks_of_float64_agree_with_those_of_float32(void **state) {
    (void)state;
    check("LSTM", "{direction=\"bidirectional\", clip=1.5}", 4, true);
    check("LSTM", "{direction=\"bidirectional\", input_forget=1}", 4, true);
    check("GRU", "{direction=\"bidirectional\", clip=1.5}", 3, false);
    check("GRU", "{direction=\"bidirectional\", linear_before_reset=1}", 3, false);
    check("RNN", "{direction=\"bidirectional\", clip=1.5}", 1, false);
}

int test_cpu_recurrent_wide(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_networks_of_float64_agree_with_those_of_float32),
    };
    return cmocka_run_group_tests_name("cpu_recurrent_wide", tests, NULL, NULL);
}
