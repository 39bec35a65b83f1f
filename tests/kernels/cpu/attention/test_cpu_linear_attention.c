#include "tests/kernels/fixtures/everywhere.h"

/* One head of depth 2 and one column, two rows, by hand. */
static DeviceCall make_call(const char *attributes) {
    static const double q[4] = {1, 2, 3, 4}, k[4] = {1, 0, 0.5, 0.5}, v[2] = {4, 8};
    static const double beta[2] = {0.5, 1};
    DeviceCall call = {.operator_name = "LinearAttention",
        .attributes = attributes,
        .input_count = 3,
        .output_count = 2};
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, q, 3, 1, 2, 2);
    call.inputs[1] = device_tensor(DTYPE_FLOAT32, k, 3, 1, 2, 2);
    call.inputs[2] = device_tensor(DTYPE_FLOAT32, v, 3, 1, 2, 1);
    call.inputs[5] = device_tensor(DTYPE_FLOAT32, beta, 3, 1, 2, 1);
    return call;
}

static void test_linear_attention_adds_keys_times_values(void **state) {
    (void)state;
    DeviceCall call =
        make_call("{q_num_heads=1, kv_num_heads=1, scale=1.0, update_rule=\"linear\"}");
    /* states: [4, 0], [8, 4] */
    everywhere_check(&call, (double[]){4, 40}, 0);
    everywhere_release(&call);
}

static void test_linear_attention_corrects_what_the_state_knows(void **state) {
    (void)state;
    DeviceCall call =
        make_call("{q_num_heads=1, kv_num_heads=1, scale=1.0, update_rule=\"delta\"}");
    call.input_count = 6;
    /* states: [2, 0], then 8 - 1 = 7 written by halves: [5.5, 3.5] */
    everywhere_check(&call, (double[]){2, 30.5}, 0);
    everywhere_release(&call);
}

/* Columns beyond one block, a state that is handed on. */
static void test_linear_attention_may_be_cut_anywhere(void **state) {
    (void)state;
    const Shape q = {3, {2, 6, 16}}, v = {3, {2, 6, 2 * 130}}, gate = {3, {2, 6, 2}};
    DeviceCall call = {.device = everywhere_cpu(),
        .operator_name = "LinearAttention",
        .attributes = "{q_num_heads=2, kv_num_heads=2}",
        .input_count = 6,
        .output_count = 2};
    call.inputs[0] = device_tensor_random(DTYPE_FLOAT32, &q, -1, 1, 1);
    call.inputs[1] = device_tensor_random(DTYPE_FLOAT32, &q, -0.3, 0.3, 2);
    call.inputs[2] = device_tensor_random(DTYPE_FLOAT32, &v, -1, 1, 3);
    call.inputs[4] = device_tensor_random(DTYPE_FLOAT32, &gate, -1, 0, 4);
    call.inputs[5] = device_tensor_random(DTYPE_FLOAT32, &gate, 0, 1, 5);
    Tensor *whole[2] = {0}, *parts[2] = {0};
    everywhere_run(&(DeviceCall){.operator_name = call.operator_name,
                       .attributes = call.attributes,
                       .input_count = 6,
                       .output_count = 2,
                       .inputs = {call.inputs[0], call.inputs[1], call.inputs[2], NULL,
                           call.inputs[4], call.inputs[5]}},
        whole);
    DeviceCall half = call;
    for (int part = 0; part < 2; part++) {
        for (uint32_t i = 0; i < 6; i++) {
            if (i == 3) continue;
            Shape shape = call.inputs[i]->shape;
            const int64_t columns = shape.dims[2];
            double values[2 * 3 * 260];
            for (int64_t j = 0; j < 2 * 3 * columns; j++)
                values[j] = device_tensor_get(call.inputs[i],
                    (j / (3 * columns) * 6 + part * 3) * columns + j % (3 * columns));
            half.inputs[i] = device_tensor(DTYPE_FLOAT32, values, 3, 2, 3, (int)columns);
        }
        half.inputs[3] = parts[1];
        parts[1] = NULL;
        tensor_release(parts[0]);
        assert_ok(device_call_run(&half, parts, NULL));
        everywhere_release(&half);
    }
    for (int64_t i = 0; i < 2 * 2 * 8 * 130; i++)
        assert_true(device_tensor_get(whole[1], i) == device_tensor_get(parts[1], i));
    for (uint32_t i = 0; i < 2; i++) tensor_release(whole[i]), tensor_release(parts[i]);
    everywhere_release(&call);
}

int test_cpu_linear_attention(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear_attention_adds_keys_times_values),
        cmocka_unit_test(test_linear_attention_corrects_what_the_state_knows),
        cmocka_unit_test(test_linear_attention_may_be_cut_anywhere),
    };
    return cmocka_run_group_tests_name("cpu_linear_attention", tests, NULL, NULL);
}
