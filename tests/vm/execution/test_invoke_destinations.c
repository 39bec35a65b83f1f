#include "tests/vm/vm_fixture.h"
#include "vm/execution/snapshot.h"

/* Writing in place after a snapshot: the snapshot keeps the bytes and the written bits it saw. */
static void test_destinations_leave_snapshots_alone(void **state) {
    (void)state;
    VmMachine machine = vm_machine(
        "constant @x = float32[2] {1, -2}\nconstant @s = shape [2]\nprimitive %neg = Neg\n"
        "function f() exported {\n AllocTensorReg _, 0, float32, @s -> r0\n"
        " AllocTensorReg _, 0, float32, @s -> r1\n InvokePacked %neg @x => r0\n"
        " InvokePacked %neg r0 => r0\n InvokePacked %neg r0 => r1\n AllocADT 0, r0, r1 -> r2\n Ret "
        "r2\n}\n",
        "cpu");
    Execution *execution = vm_start(&machine, "f", NULL, 0, NULL);
    assert_int_equal(vm_run(execution, 3), RUN_SUSPENDED);
    Snapshot *snapshot;
    assert_ok(snapshot_take(execution, &snapshot));
    assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
    float data[2];
    assert_int_equal(snapshot->register_count, 2);
    assert_true(snapshot->registers[0].value.tensor->written);
    assert_false(snapshot->registers[1].value.tensor->written);
    assert_ok(tensor_copy_to_host(snapshot->registers[0].value.tensor, data));
    assert_true(data[0] == -1 && data[1] == 2);
    execution_release(execution);
    snapshot_release(snapshot);
    vm_machine_deinit(&machine);
}

int test_invoke_destinations(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_destinations_leave_snapshots_alone),
    };
    return cmocka_run_group_tests_name("invoke_destinations", tests, NULL, NULL);
}
