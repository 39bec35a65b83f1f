#include "tests/vm/vm_fixture.h"
#include "vm/execution/execution_state.h"

static void test_frames_stack_their_registers(void **state) {
    (void)state;
    VmMachine machine = vm_machine(
        "function f() exported {\n LoadConsti 7 -> r2\n Invoke &g, r2 -> r0\n Ret r0\n}\n"
        "function g(1) {\n IntOp add, r0, 1 -> r0\n Ret r0\n}\n",
        "cpu");
    Execution *execution = vm_start(&machine, "f", NULL, 0, NULL);
    assert_int_equal(vm_run(execution, 2), RUN_SUSPENDED);
    assert_int_equal(execution_get_depth(execution), 2);
    Frame caller = execution_get_frame(execution, 0), callee = execution_get_frame(execution, 1);
    assert_int_equal(caller.pc, 1); /* the call it waits at */
    assert_int_equal(callee.pc, 0);
    assert_int_equal(callee.register_base, 3);
    assert_int_equal(callee.return_register, 0);
    assert_int_equal(execution->registers[3].integer, 7);
    assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
    for (size_t i = 0; i < execution->register_capacity; i++)
        assert_int_equal(execution->registers[i].tag, VALUE_NIL);
    execution_release(execution);
    vm_machine_deinit(&machine);
}

static const char nested[] = "function f(1) exported {\n If r0, 0, last, deeper\nlast:\n Ret r0\n"
                             "deeper:\n IntOp sub, r0, 1 -> r0\n Invoke &f, r0 -> r0\n Ret r0\n}\n";

/* Frames count as memory: up to the limit, and in the peak that is told afterwards. */
static void test_frames_count_as_memory(void **state) {
    (void)state;
    enum { DEPTH = 3000, LIMIT = 1 << 20 };
    VmMachine machine = vm_machine(nested, "cpu");
    const Value depth = value_int(DEPTH);
    Execution *execution = vm_start(&machine, "f", &depth, 1, NULL);
    const uint64_t at_first = execution_get_peak_bytes(execution);
    assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
    assert_true(execution_get_peak_bytes(execution) >=
                at_first + DEPTH * (sizeof(Frame) + OBJECT_PLACE_BYTES));
    execution_release(execution);
    const ExecutionOptions options = {.memory_limit_bytes = {LIMIT, LIMIT}};
    RunResult result;
    execution = vm_start(&machine, "f", &depth, 1, &options);
    assert_fails_saying(EXHAUSTED, "frames, lists and other objects take",
        execution_run(execution, (Budget){0}, &result));
    execution_release(execution);
    vm_machine_deinit(&machine);
}

int test_execution_frames(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_stack_their_registers),
        cmocka_unit_test(test_frames_count_as_memory),
    };
    return cmocka_run_group_tests_name("execution_frames", tests, NULL, NULL);
}
