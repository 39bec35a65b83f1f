#include "tests/vm/vm_fixture.h"
#include "vm/execution/instructions.h"
#include "vm/objects/shape_object.h"

static void test_shapes_from_tensors_are_checked(void **state) {
    (void)state;
    Shape shape;
    Value good = value_object(OBJECT_TENSOR, vm_ints(3, (int64_t[]){2, 0, 5}));
    assert_ok(instruction_shape_operand(&good, &shape));
    assert_int_equal(shape.rank, 3);
    assert_int_equal(shape.dims[2], 5);
    value_release(&good);
    Value bad[] = {value_int(3), value_object(OBJECT_TENSOR, vm_floats(1, (float[]){1})),
        value_object(OBJECT_TENSOR, vm_ints(9, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1})),
        value_object(OBJECT_TENSOR, vm_ints(1, (int64_t[]){-1})),
        value_object(OBJECT_TENSOR, vm_ints(2, (int64_t[]){INT64_MAX, INT64_MAX}))};
    for (uint32_t i = 0; i < 5; i++) {
        assert_fails(INVALID, instruction_shape_operand(&bad[i], &shape));
        value_release(&bad[i]);
    }
}

static void test_memory_that_is_not_granted_is_asked_for(void **state) {
    (void)state;
    VmMachine machine = vm_machine("constant @s = shape [1000]\nfunction f() exported {\n "
                                   "AllocTensorReg _, 0, float32, @s -> r0\n Ret r0\n}\n",
        "sim:0");
    Execution *execution = vm_start(&machine, "f", NULL, 0, NULL);
    memory_pool_set_grant(execution_get_pool(execution, 1), 100);
    RunResult result;
    for (int i = 0; i < 3; i++) {
        assert_ok(execution_run(execution, (Budget){0}, &result));
        assert_int_equal(result.kind, RUN_NEEDS_MEMORY);
        assert_int_equal(result.slot, 1);
        assert_true(result.bytes >= 4000);
        assert_int_equal(execution_get_counters(execution).instructions, 0);
    }
    memory_pool_set_grant(execution_get_pool(execution, 1), UINT64_MAX);
    assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
    execution_release(execution);
    vm_machine_deinit(&machine);
}

static ExecutionTraffic traffic_on(const char *device) {
    VmMachine machine = vm_machine("constant @x = float32[3] {1, 0, 3}\n"
                                   "constant @h slot 0 = int64[2] {1, 2}\n"
                                   "primitive %abs = Abs\nprimitive %find = NonZero\n"
                                   "function f() exported {\n"
                                   " InvokePacked %abs @x -> r0\n"
                                   " DeviceCopy r0, 0 -> r1\n"
                                   " InvokePacked %find r0 -> r2\n"
                                   " DeviceCopy @h, 1 -> r3\n DeviceCopy r1, 1 -> r1\n"
                                   " DeviceCopy r1, 1 -> r1\n Ret r1\n}\n",
        device);
    Execution *execution = vm_start(&machine, "f", NULL, 0, NULL);
    assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
    ExecutionTraffic traffic = execution_get_traffic(execution);
    execution_release(execution);
    vm_machine_deinit(&machine);
    return traffic;
}

/* A size that NonZero finds is a wait without a copy; a copy into the same slot is none. */
static void test_copies_between_slots_and_waits_are_counted(void **state) {
    (void)state;
    ExecutionTraffic traffic = traffic_on("sim:0");
    assert_int_equal(traffic.copies_to_host, 1);
    assert_int_equal(traffic.bytes_to_host, 12);
    assert_int_equal(traffic.copies_to_device, 2);
    assert_int_equal(traffic.bytes_to_device, 16 + 12);
    assert_int_equal(traffic.waits, 2);
    traffic = traffic_on("cpu"); /* both slots are host memory */
    assert_memory_equal(&traffic, &(ExecutionTraffic){0}, sizeof traffic);
}

int test_instructions_tensor(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes_from_tensors_are_checked),
        cmocka_unit_test(test_memory_that_is_not_granted_is_asked_for),
        cmocka_unit_test(test_copies_between_slots_and_waits_are_counted),
    };
    return cmocka_run_group_tests_name("instructions_tensor", tests, NULL, NULL);
}
