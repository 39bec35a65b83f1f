#include "kernels/cpu/cpu_lstm.h"

#include "tests/kernels/kernel_call.h"

/* Plain weights are packed in the workspace, packed ones are not copied. */
static void test_lstm_workspace_holds_only_what_it_must(void **state) {
    (void)state;
    CpuLstm lstm = {.length = 3, .batch = 2, .input = 5, .hidden = 4, .directions = 1};
    cpu_lstm_prepare(&lstm, CPU_LEVEL_PORTABLE);
    const int64_t plain = cpu_lstm_workspace_count(&lstm);
    lstm.packed[0] = lstm.packed[1] = true;
    assert_int_equal(plain - cpu_lstm_workspace_count(&lstm), 16 * 5 + 16 * 4);
}

int test_cpu_lstm_run(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lstm_workspace_holds_only_what_it_must),
    };
    return cmocka_run_group_tests_name("cpu_lstm_run", tests, NULL, NULL);
}
