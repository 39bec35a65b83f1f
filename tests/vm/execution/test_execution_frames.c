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

int test_execution_frames(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_stack_their_registers),
    };
    return cmocka_run_group_tests_name("execution_frames", tests, NULL, NULL);
}
