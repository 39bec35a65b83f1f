#include "kernels/cpu/recurrent/cpu_recurrent_scratch.h"

#include "tests/kernels/fixtures/kernel_call.h"

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

/* A step writes its state beside the one that others still multiply. */
static void test_recurrent_workspace_holds_two_states_of_slices(void **state) {
    (void)state;
    CpuRecurrent rnn = {
        .length = 3, .batch = 2, .input = 5, .hidden = 128, .directions = 1, .gates = 1};
    rnn.first_gates = rnn.joined_gates = 1;
    cpu_recurrent_prepare(&rnn, CPU_LEVEL_PORTABLE);
    assert_true(rnn.sliced);
    const int64_t sliced = cpu_recurrent_workspace_count(&rnn);
    rnn.sliced = false;
    assert_int_equal(sliced - cpu_recurrent_workspace_count(&rnn), 2 * 128);
    rnn.hidden = 130;
    cpu_recurrent_prepare(&rnn, CPU_LEVEL_PORTABLE);
    assert_false(rnn.sliced);
}

/* Weights in bytes have a part of their own, and no panels of float32. */
static void test_recurrent_workspace_has_a_part_for_bytes(void **state) {
    (void)state;
    CpuRecurrent lstm = {
        .length = 3, .batch = 2, .input = 5, .hidden = 4, .directions = 1, .gates = 4};
    lstm.first_gates = lstm.joined_gates = 4;
    lstm.packed[0] = lstm.packed[1] = true;
    cpu_recurrent_prepare(&lstm, CPU_LEVEL_PORTABLE);
    const int64_t packed = cpu_recurrent_workspace_count(&lstm);
    lstm.packed[0] = lstm.packed[1] = false;
    lstm.in_bytes = true;
    lstm.bytes.workspace_bytes = 640;
    assert_int_equal(cpu_recurrent_workspace_count(&lstm) - packed, 160);
}

int test_cpu_recurrent_scratch(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recurrent_workspace_holds_only_what_it_must),
        cmocka_unit_test(test_recurrent_workspace_holds_a_second_product),
        cmocka_unit_test(test_recurrent_workspace_holds_two_states_of_slices),
        cmocka_unit_test(test_recurrent_workspace_has_a_part_for_bytes),
    };
    return cmocka_run_group_tests_name("cpu_recurrent_scratch", tests, NULL, NULL);
}
