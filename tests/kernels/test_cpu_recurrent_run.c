#include "kernels/cpu/cpu_recurrent.h"
#include "tests/kernels/kernel_call.h"

/* Plain weights are packed in the workspace, packed ones are not copied. */
static void test_recurrent_workspace_holds_only_what_it_must(void **state) {
    (void)state;
    CpuRecurrent lstm = {
        .length = 3, .batch = 2, .input = 5, .hidden = 4, .directions = 1, .gates = 4};
    lstm.first_gates = lstm.joined_gates = 4;
    cpu_recurrent_prepare(&lstm, CPU_LEVEL_PORTABLE);
    const int64_t plain = cpu_recurrent_workspace_count(&lstm);
    lstm.packed[0] = lstm.packed[1] = true;
    assert_int_equal(plain - cpu_recurrent_workspace_count(&lstm), 16 * 5 + 16 * 4);
}

/* What the second product takes and makes, and its weights. */
static void test_recurrent_workspace_holds_a_second_product(void **state) {
    (void)state;
    CpuRecurrent gru = {
        .length = 3, .batch = 4, .input = 5, .hidden = 16, .directions = 1, .gates = 3};
    gru.first_gates = gru.joined_gates = 3;
    const int64_t one = cpu_recurrent_workspace_count(&gru);
    gru.first_gates = 2;
    assert_int_equal(cpu_recurrent_workspace_count(&gru) - one, 2 * 4 * 16 - 4 * 16);
}

static void test_recurrent_stops_at_each_sequences_length(void **state) {
    (void)state;
    static const float x[6] = {1, 1, 1, 1, 1, 1}, w[1] = {1}, r[1] = {1};
    static const int32_t lengths[2] = {3, 1};
    KernelCall call = {.name = "RNN",
        .attributes = "{activations=[\"Affine\"]}",
        .input_count = 5,
        .output_count = 2,
        .inputs = {{DTYPE_FLOAT32, {3, {3, 2, 1}}, x}, {DTYPE_FLOAT32, {3, {1, 1, 1}}, w},
            {DTYPE_FLOAT32, {3, {1, 1, 1}}, r}, {0}, {DTYPE_INT32, {1, {2}}, lengths}}};
    KernelResult result;
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    kernel_check_close(&result, 0, (double[]){1, 1, 2, 0, 3, 0}, 0);
    kernel_check_close(&result, 1, (double[]){3, 1}, 0);
    kernel_result_deinit(&result);
}

int test_cpu_recurrent_run(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recurrent_workspace_holds_only_what_it_must),
        cmocka_unit_test(test_recurrent_workspace_holds_a_second_product),
        cmocka_unit_test(test_recurrent_stops_at_each_sequences_length),
    };
    return cmocka_run_group_tests_name("cpu_recurrent_run", tests, NULL, NULL);
}
