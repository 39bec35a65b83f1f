#include "tests/vm/vm_fixture.h"
#include "vm/execution/snapshot.h"

static const char CODE[] =
    "constant @x = float32[2] {1, -2}\nprimitive %neg = Neg\n"
    "function f() exported last_uses {\n InvokePacked %neg @x -> r0\n ListNew r0 -> r1\n"
    " Yield 5\n ListAppend r1, 7 -> r1\n AllocADT 0, r0, r1 -> r2\n Ret r2\n}\n";

static void test_snapshot_holds_references_to_live_registers_only(void **state) {
    (void)state;
    VmMachine machine = vm_machine(CODE, "cpu");
    Execution *execution = vm_start(&machine, "f", NULL, 0, NULL);
    assert_int_equal(vm_run(execution, 3), RUN_SUSPENDED);
    uint64_t used = memory_pool_used_bytes(execution_get_pool(execution, 1));
    Snapshot *snapshot;
    assert_ok(snapshot_take(execution, &snapshot));
    assert_int_equal(memory_pool_used_bytes(execution_get_pool(execution, 1)), used);
    assert_int_equal(snapshot->frame_count, 1);
    assert_int_equal(snapshot->frames[0].pc, 3);
    assert_int_equal(snapshot->register_count, 2);
    assert_int_equal(snapshot->yield_count, 1);
    assert_int_equal(snapshot->counters.instructions, 3);
    assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
    uint32_t count;
    (void)value_children(&snapshot->registers[1].value, &count);
    assert_int_equal(count, 1); /* the list was appended to after the snapshot */
    snapshot_release(snapshot);
    execution_release(execution);
    vm_machine_deinit(&machine);
}

/* The execution may go before the snapshot, and the snapshot brings back all of it. */
static void test_snapshot_outlives_its_execution(void **state) {
    (void)state;
    VmMachine machine = vm_machine(CODE, "sim:0");
    Execution *execution = vm_start(&machine, "f", NULL, 0, NULL);
    assert_int_equal(vm_run(execution, 3), RUN_SUSPENDED);
    Snapshot *snapshot;
    assert_ok(snapshot_take(execution, &snapshot));
    execution_release(execution);
    for (int i = 0; i < 2; i++) { /* twice: a restore leaves the snapshot as it is */
        assert_ok(execution_create_empty(machine.residency, NULL, &execution));
        assert_ok(execution_restore(execution, snapshot));
        Value yielded;
        uint64_t sequence;
        assert_true(execution_take_yield(execution, &yielded, &sequence));
        assert_int_equal(yielded.integer, 5);
        assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
        assert_int_equal(execution_get_counters(execution).instructions, 6);
        execution_release(execution);
    }
    snapshot_release(snapshot);
    vm_machine_deinit(&machine);
}

/* An execution that uses all of its grant can still be suspended: the copies of its mutable
 * storages are in the host's memory. */
static void test_snapshot_needs_no_memory_of_the_device(void **state) {
    (void)state;
    VmMachine machine = vm_machine("constant @x = float32[2] {1, -2}\nprimitive %neg = Neg\n"
                                   "function f() exported {\n"
                                   " AllocStorage 4096, 64, 1, float32 -> r0\n"
                                   " AllocTensor r0, 0, float32, 2 -> r1\n"
                                   " InvokePacked %neg @x => r1\n"
                                   " Ret r1\n}\n",
        "sim:0");
    Execution *execution = vm_start(&machine, "f", NULL, 0, NULL);
    MemoryPool *pool = execution_get_pool(execution, SLOT_DEVICE);
    assert_int_equal(vm_run(execution, 3), RUN_SUSPENDED);
    memory_pool_set_grant(pool, memory_pool_used_bytes(pool));
    Snapshot *snapshot;
    assert_ok(snapshot_take(execution, &snapshot));
    execution_release(execution);
    assert_ok(execution_create_empty(machine.residency, NULL, &execution));
    assert_ok(execution_restore(execution, snapshot));
    assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
    const Tensor *result = execution_get_result(execution)->tensor;
    float found[2];
    assert_true(result->storage->device == machine.device);
    assert_ok(tensor_copy_to_host(result, found));
    assert_true(found[0] == -1 && found[1] == 2);
    snapshot_release(snapshot);
    execution_release(execution);
    vm_machine_deinit(&machine);
}

static void test_snapshot_of_a_finished_execution_holds_its_result(void **state) {
    (void)state;
    VmMachine machine = vm_machine("function f() exported {\n Ret 42\n}\n", "cpu");
    Execution *execution = vm_start(&machine, "f", NULL, 0, NULL);
    assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
    Snapshot *snapshot;
    assert_ok(snapshot_take(execution, &snapshot));
    execution_release(execution);
    assert_int_equal(snapshot->frame_count, 0);
    assert_ok(execution_create_empty(machine.residency, NULL, &execution));
    assert_ok(execution_restore(execution, snapshot));
    assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
    assert_int_equal(execution_get_result(execution)->integer, 42);
    snapshot_release(snapshot);
    execution_release(execution);
    vm_machine_deinit(&machine);
}

int test_snapshot(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_snapshot_holds_references_to_live_registers_only),
        cmocka_unit_test(test_snapshot_outlives_its_execution),
        cmocka_unit_test(test_snapshot_needs_no_memory_of_the_device),
        cmocka_unit_test(test_snapshot_of_a_finished_execution_holds_its_result),
    };
    return cmocka_run_group_tests_name("snapshot", tests, NULL, NULL);
}
