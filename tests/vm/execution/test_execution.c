#include "tests/vm/vm_fixture.h"
#include "vm/execution/execution.h"

static const char COUNT[] = "function count(1) exported {\n LoadConsti 0 -> r1\n"
                            "a: If r1, r0, b, c\nc: IntOp add, r1, 1 -> r1\n Goto a\nb: Ret r1\n}\n"
                            "function yields(1) exported {\n LoadConsti 0 -> r1\n"
                            "a: If r1, r0, b, c\nc: Yield r1\n IntOp add, r1, 1 -> r1\n Goto a\n"
                            "b: Ret r1\n}\n";

static void test_execution_budget_is_exact(void **state) {
    (void)state;
    VmMachine machine = vm_machine(COUNT, "cpu");
    Value five = value_int(5);
    Execution *execution = vm_start(&machine, "count", &five, 1, NULL);
    for (uint64_t i = 1; i <= 17; i++) {
        assert_int_equal(vm_run(execution, 1), RUN_SUSPENDED);
        assert_int_equal(execution_get_counters(execution).instructions, i);
    }
    assert_int_equal(vm_run(execution, 1), RUN_FINISHED);
    assert_int_equal(execution_get_result(execution)->integer, 5);
    assert_int_equal(vm_run(execution, 1), RUN_FINISHED);
    assert_int_equal(execution_get_counters(execution).instructions, 18);
    execution_release(execution);
    vm_machine_deinit(&machine);
}

static void test_execution_stops_where_it_is_asked_to(void **state) {
    (void)state;
    VmMachine machine = vm_machine(COUNT, "cpu");
    Value many = value_int(1000);
    Execution *execution = vm_start(&machine, "count", &many, 1, NULL);
    execution_request_suspend(execution);
    assert_int_equal(vm_run(execution, 0), RUN_SUSPENDED);
    execution_request_slice_end(execution);
    assert_int_equal(vm_run(execution, 0), RUN_SLICE_ENDED);
    assert_int_equal(execution_get_counters(execution).instructions, 0);
    assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
    execution_release(execution);
    vm_machine_deinit(&machine);
}

static void test_execution_is_blocked_by_a_full_queue(void **state) {
    (void)state;
    VmMachine machine = vm_machine(COUNT, "cpu");
    Value five = value_int(5);
    ExecutionOptions options = {.yield_limit = 2};
    Execution *execution = vm_start(&machine, "yields", &five, 1, &options);
    Value value;
    uint64_t sequence, taken = 0;
    while (vm_run(execution, 0) == RUN_BLOCKED) {
        assert_int_equal(execution_get_counters(execution).yields, taken + 2);
        while (execution_take_yield(execution, &value, &sequence)) {
            assert_int_equal(sequence, taken);
            assert_int_equal(value.integer, taken++);
        }
    }
    assert_true(execution_take_yield(execution, &value, &sequence));
    assert_int_equal(sequence, 4);
    assert_false(execution_take_yield(execution, &value, &sequence));
    execution_release(execution);
    vm_machine_deinit(&machine);
}

static void test_execution_that_failed_can_only_be_released(void **state) {
    (void)state;
    VmMachine machine =
        vm_machine("function f() exported {\n IntOp div, 1, 0 -> r0\n Ret r0\n}\n", "cpu");
    Execution *execution = vm_start(&machine, "f", NULL, 0, NULL);
    RunResult result;
    assert_fails_saying(FAILED, "function f, instruction 0 (IntOp): a division of 1 by zero",
        execution_run(execution, (Budget){0}, &result));
    assert_fails(CONFLICT, execution_run(execution, (Budget){0}, &result));
    execution_release(execution);
    vm_machine_deinit(&machine);
}

static void test_execution_keeps_to_its_limits(void **state) {
    (void)state;
    VmMachine machine = vm_machine(
        "function deep(1) exported {\n IntOp add, r0, 1 -> r1\n Invoke &deep, r1 -> r1\n Ret "
        "r1\n}\n"
        "function grow() exported {\n ListNew -> r0\na: ListAppend r0!, 1 -> r0\n Goto a\n}\n"
        "function store() exported {\na: AllocStorage 100000, 64, 1, none -> r0\n ListNew r0 -> "
        "r1\n Ret r1\n}\n",
        "sim:0");
    RunResult result;
    Value zero = value_int(0);
    ExecutionOptions options = {.depth_limit = 100, .memory_limit_bytes = {1 << 20, 50000}};
    Execution *execution = vm_start(&machine, "deep", &zero, 1, &options);
    assert_fails_saying(
        FAILED, "deeper than 100 frames", execution_run(execution, (Budget){0}, &result));
    assert_int_equal(execution_get_depth(execution), 100);
    execution_release(execution);
    options.depth_limit = 0;
    execution = vm_start(&machine, "deep", &zero, 1, &options);
    assert_fails(EXHAUSTED, execution_run(execution, (Budget){0}, &result));
    execution_release(execution);
    execution = vm_start(&machine, "grow", NULL, 0, &options);
    assert_fails(EXHAUSTED, execution_run(execution, (Budget){0}, &result));
    execution_release(execution);
    execution = vm_start(&machine, "store", NULL, 0, &options);
    assert_fails(EXHAUSTED, execution_run(execution, (Budget){0}, &result));
    execution_release(execution);
    vm_machine_deinit(&machine);
}

static void test_execution_names_missing_packed_functions(void **state) {
    (void)state;
    VmMachine machine =
        vm_machine("packed nobody.has.it(1)\nfunction f() exported {\n Ret 1\n}\n", "cpu");
    Execution *execution;
    assert_fails_saying(NOT_FOUND, "nobody.has.it",
        execution_create(machine.residency, NULL, 1, NULL, 0, &execution));
    vm_machine_deinit(&machine);
}

/* The second execution computes in the first one's blocks. */
static void test_execution_takes_what_the_one_before_left(void **state) {
    (void)state;
    VmMachine machine = vm_machine("constant @x slot 1 = float32[3] {1.5, -2, 3}\n"
                                   "primitive %neg = Neg.13 {}\n"
                                   "function f() exported last_uses {\n"
                                   " InvokePacked %neg @x -> r0\n Ret r0\n}\n",
        "sim:0,memory=1MiB");
    ExecutionOptions options = {0};
    Device *devices[SLOT_COUNT] = {machine.cpu, machine.device};
    DeviceMemory memory[2];
    uint64_t addresses[2];
    for (uint32_t slot = 0; slot < SLOT_COUNT; slot++)
        assert_ok(memory_pool_create(devices[slot], 0, &options.reserves[slot]));
    for (int i = 0; i < 2; i++) {
        Execution *execution = vm_start(&machine, "f", NULL, 0, &options);
        assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
        addresses[i] = execution_get_result(execution)->tensor->storage->address;
        execution_release(execution);
        assert_ok(machine.device->class_->memory(machine.device, &memory[i]));
    }
    assert_int_equal(addresses[0], addresses[1]);
    assert_int_equal(memory[0].free_bytes, memory[1].free_bytes);
    for (uint32_t slot = 0; slot < SLOT_COUNT; slot++) memory_pool_release(options.reserves[slot]);
    vm_machine_deinit(&machine);
}

int test_execution(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_execution_budget_is_exact),
        cmocka_unit_test(test_execution_stops_where_it_is_asked_to),
        cmocka_unit_test(test_execution_is_blocked_by_a_full_queue),
        cmocka_unit_test(test_execution_that_failed_can_only_be_released),
        cmocka_unit_test(test_execution_keeps_to_its_limits),
        cmocka_unit_test(test_execution_names_missing_packed_functions),
        cmocka_unit_test(test_execution_takes_what_the_one_before_left),
    };
    return cmocka_run_group_tests_name("execution", tests, NULL, NULL);
}
