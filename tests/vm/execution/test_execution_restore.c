#include "tests/vm/vm_fixture.h"
#include "vm/execution/execution_state.h"
#include "vm/execution/snapshot.h"
#include "base/allocator.h"

static const char CODE[] = "function f(1) exported {\n AllocADT 0, r0, 2 -> r1\n"
                           " Invoke &g, r0 -> r2\n AllocADT 0, r1, r2 -> r3\n Ret r3\n}\n"
                           "function g(1) {\n IntOp add, r0, 1 -> r1\n TailInvoke &h, r1\n}\n"
                           "function h(1) {\n IntOp add, r0, 1 -> r1\n Ret r1\n}\n"
                           "function other(1) {\n Ret r0\n}\n";

static Snapshot *take_after(const VmMachine *machine, uint64_t instructions) {
    Value five = value_int(5);
    Execution *execution = vm_start(machine, "f", &five, 1, NULL);
    if (instructions) assert_int_equal(vm_run(execution, instructions), RUN_SUSPENDED);
    Snapshot *snapshot;
    assert_ok(snapshot_take(execution, &snapshot));
    execution_release(execution);
    return snapshot;
}

static Error *restore(const VmMachine *machine, const Snapshot *snapshot) {
    Execution *execution;
    assert_ok(execution_create_empty(machine->residency, NULL, &execution));
    Error *error = execution_restore(execution, snapshot);
    execution_release(execution);
    return error;
}

static void test_restore_takes_frames_after_tail_calls(void **state) {
    (void)state;
    VmMachine machine = vm_machine(CODE, "cpu");
    for (uint64_t i = 0; i < 7; i++) {
        Snapshot *snapshot = take_after(&machine, i);
        assert_ok(restore(&machine, snapshot));
        snapshot_release(snapshot);
    }
    vm_machine_deinit(&machine);
}

static void test_restore_refuses_forged_frames(void **state) {
    (void)state;
    VmMachine machine = vm_machine(CODE, "cpu");
    Snapshot *snapshot = take_after(&machine, 2);
    Frame *frames = snapshot->frames;
    assert_int_equal(snapshot->frame_count, 2);
    Frame first = frames[0], second = frames[1];
    frames[1].function = 99;
    assert_fails_saying(CORRUPT, "frame 1: no function 99", restore(&machine, snapshot));
    frames[1].function = 3;
    assert_fails_saying(CORRUPT, "frame 1 does not fit the call", restore(&machine, snapshot));
    frames[1] = second;
    frames[1].pc = 2;
    assert_fails_saying(CORRUPT, "frame 1: instruction 2 of 2", restore(&machine, snapshot));
    frames[1] = second;
    frames[1].return_register = 1;
    assert_fails_saying(CORRUPT, "frame 1 does not fit the call", restore(&machine, snapshot));
    frames[1] = second;
    frames[0].pc = 2;
    assert_fails_saying(CORRUPT, "which is no call", restore(&machine, snapshot));
    frames[0] = first;
    frames[0].return_register = 0;
    assert_fails_saying(CORRUPT, "of nobody", restore(&machine, snapshot));
    frames[0] = first;
    assert_ok(restore(&machine, snapshot));
    snapshot_release(snapshot);
    vm_machine_deinit(&machine);
}

static void test_restore_wants_exactly_the_live_registers(void **state) {
    (void)state;
    VmMachine machine = vm_machine(CODE, "cpu");
    Snapshot *snapshot = take_after(&machine, 2); /* f: r1; g: r0 */
    assert_int_equal(snapshot->register_count, 2);
    snapshot->register_count = 1;
    assert_fails_saying(
        CORRUPT, "frame 1: register r0 is alive but not given", restore(&machine, snapshot));
    snapshot->register_count = 2;
    snapshot->registers[0].index = 0;
    assert_fails_saying(
        CORRUPT, "frame 0: register r0 is given but not alive", restore(&machine, snapshot));
    snapshot->registers[0].index = 3;
    assert_fails_saying(
        CORRUPT, "frame 0: register r1 is alive but not given", restore(&machine, snapshot));
    snapshot->registers[0].index = 1;
    snapshot->registers[1].index = 1;
    assert_fails(CORRUPT, restore(&machine, snapshot));
    snapshot->registers[1].index = 0;
    assert_ok(restore(&machine, snapshot));
    snapshot_release(snapshot);
    vm_machine_deinit(&machine);
}

static void test_restore_refuses_forged_yields_and_results(void **state) {
    (void)state;
    VmMachine machine = vm_machine(CODE, "cpu");
    Snapshot *snapshot = take_after(&machine, 0);
    snapshot->result = value_int(1);
    assert_fails_saying(CORRUPT, "a result before the end", restore(&machine, snapshot));
    snapshot->result = value_nil();
    memory_free(snapshot->yields);
    void *memory;
    assert_ok(memory_alloc(1, sizeof(Value), &memory));
    snapshot->yields = memory;
    snapshot->yield_count = 1;
    assert_fails_saying(CORRUPT, "1 values are queued of 0 yielded", restore(&machine, snapshot));
    snapshot_release(snapshot);
    vm_machine_deinit(&machine);
}

static void test_restore_wants_an_empty_execution(void **state) {
    (void)state;
    VmMachine machine = vm_machine(CODE, "cpu");
    Snapshot *snapshot = take_after(&machine, 0);
    Value five = value_int(5);
    Execution *execution = vm_start(&machine, "f", &five, 1, NULL);
    assert_fails(CONFLICT, execution_restore(execution, snapshot));
    execution_release(execution);
    snapshot_release(snapshot);
    vm_machine_deinit(&machine);
}

int test_execution_restore(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_restore_takes_frames_after_tail_calls),
        cmocka_unit_test(test_restore_refuses_forged_frames),
        cmocka_unit_test(test_restore_wants_exactly_the_live_registers),
        cmocka_unit_test(test_restore_refuses_forged_yields_and_results),
        cmocka_unit_test(test_restore_wants_an_empty_execution),
    };
    return cmocka_run_group_tests_name("execution_restore", tests, NULL, NULL);
}
