#include "tests/vm/vm_fixture.h"
#include "vm/execution/stateful.h"
#include "vm/execution/snapshot.h"

static const char CODE[] =
    "function add(a: any, b: any) exported {\n IntOp add, r0, r1 -> r2\n AllocADT 0, r2, r0 -> r3\n"
    " Ret r3\n}\nfunction one() exported {\n Ret 1\n}\n";

static int64_t output(const Execution *execution, uint32_t index) {
    Value value;
    assert_ok(stateful_get_output(execution, &index, 1, &value));
    assert_int_equal(value.tag, VALUE_INT);
    return value.integer;
}

static void test_stateful_inputs_are_set_invoked_and_read(void **state) {
    (void)state;
    VmMachine machine = vm_machine(CODE, "cpu");
    Execution *execution;
    RunResult result;
    uint32_t parameter;
    Value three = value_int(3), four = value_int(4);
    assert_ok(execution_create_empty(machine.residency, NULL, &execution));
    assert_fails(CONFLICT, execution_run(execution, (Budget){0}, &result));
    assert_fails_saying(
        INVALID, "input 0 of function add is not set", stateful_invoke(execution, 0));
    assert_ok(stateful_find_input(machine.executable, 0, "b", &parameter));
    assert_int_equal(parameter, 1);
    assert_fails_saying(
        NOT_FOUND, "it has a, b", stateful_find_input(machine.executable, 0, "c", &parameter));
    assert_ok(stateful_set_input(execution, 0, 0, &three));
    assert_ok(stateful_set_input(execution, 0, 1, &four));
    assert_fails(INVALID, stateful_set_input(execution, 0, 2, &four));
    for (int i = 0; i < 2; i++) {
        assert_ok(stateful_invoke(execution, 0));
        assert_fails(CONFLICT, stateful_invoke(execution, 0));
        assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
        assert_int_equal(output(execution, 0), i == 0 ? 7 : 8);
        assert_int_equal(output(execution, 1), i == 0 ? 3 : 4);
        assert_ok(stateful_set_input(execution, 0, 0, &four));
    }
    Value value;
    assert_fails(INVALID, stateful_get_output(execution, (uint32_t[]){2}, 1, &value));
    assert_fails(INVALID, stateful_get_output(execution, (uint32_t[]){0, 0}, 2, &value));
    execution_release(execution);
    vm_machine_deinit(&machine);
}

static void test_stateful_inputs_and_saved_calls_survive_a_snapshot(void **state) {
    (void)state;
    VmMachine machine = vm_machine(CODE, "cpu");
    Execution *execution, *fresh;
    Value numbers[] = {value_int(20), value_int(22)};
    assert_ok(execution_create_empty(machine.residency, NULL, &execution));
    assert_ok(stateful_set_input(execution, 0, 0, &numbers[0]));
    assert_ok(stateful_set_input(execution, 0, 1, &numbers[0]));
    assert_ok(stateful_save_function(execution, "answer", 0, numbers, 2));
    assert_fails(INVALID, stateful_save_function(execution, "wrong", 0, numbers, 1));
    Snapshot *snapshot;
    assert_ok(snapshot_take(execution, &snapshot));
    execution_release(execution);
    assert_ok(execution_create_empty(machine.residency, NULL, &fresh));
    assert_ok(execution_restore(fresh, snapshot));
    snapshot_release(snapshot);
    assert_fails(NOT_FOUND, stateful_invoke_saved(fresh, "question"));
    assert_ok(stateful_invoke_saved(fresh, "answer"));
    assert_int_equal(vm_run(fresh, 0), RUN_FINISHED);
    assert_int_equal(output(fresh, 0), 42);
    assert_ok(stateful_invoke(fresh, 0));
    assert_int_equal(vm_run(fresh, 0), RUN_FINISHED);
    assert_int_equal(output(fresh, 0), 40);
    execution_release(fresh);
    vm_machine_deinit(&machine);
}

int test_stateful(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stateful_inputs_are_set_invoked_and_read),
        cmocka_unit_test(test_stateful_inputs_and_saved_calls_survive_a_snapshot),
    };
    return cmocka_run_group_tests_name("stateful", tests, NULL, NULL);
}
