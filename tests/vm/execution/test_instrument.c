#include <stdio.h>

#include "tests/vm/vm_fixture.h"
#include "vm/execution/instrument.h"

typedef struct Seen {
    uint32_t before, after, skip_at;
    char names[256];
} Seen;

/* Operators say what served them; packed functions are none. */
static void check_kernel(const InstrumentCall *call) {
    const InstrumentKernel *kernel = call->kernel;
    assert_int_equal(kernel == NULL, strcmp(call->name, "value.kind") == 0);
    if (!kernel) return;
    assert_string_equal(kernel->name, "cpu.elementwise");
    assert_string_equal(kernel->operator_info->name, call->name);
    assert_non_null(kernel->attributes);
    assert_int_equal(kernel->input_count, 1);
    assert_int_equal(kernel->inputs[0].dtype, DTYPE_FLOAT32);
    assert_int_equal(kernel->inputs[0].shape.dims[0], 2);
}

static Error *watch(void *context, const InstrumentCall *call, InstrumentAnswer *out_answer) {
    Seen *seen = context;
    if (!call->before) {
        seen->after++;
        assert_int_equal(call->result_count, 1);
        check_kernel(call);
        assert_true(call->results[0].tag == VALUE_OBJECT);
        return NULL;
    }
    if (++seen->before == seen->skip_at) *out_answer = INSTRUMENT_SKIP;
    (void)snprintf(
        seen->names + strlen(seen->names), 64, "%s/%u ", call->name, call->argument_count);
    return NULL;
}

static const char CALLS[] =
    "constant @x = float32[2] {1, -2}\nprimitive %relu = Relu\npacked value.kind(1)\n"
    "function f() exported {\n InvokePacked %relu @x -> r0\n Call &value.kind, r0 -> r1\n"
    " AllocTensorReg _, 0, float32, @s -> r2\n InvokePacked %relu @x => r2\n"
    " AllocADT 0, r0, r1, r2 -> r3\n Ret r3\n}\nconstant @s = shape [2]\n";

static void test_instrument_sees_operators_and_packed_functions(void **state) {
    (void)state;
    VmMachine machine = vm_machine(CALLS, "cpu");
    Seen seen = {0};
    Execution *execution = vm_start(&machine, "f", NULL, 0, NULL);
    execution_set_instrument(execution, watch, &seen);
    assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
    assert_string_equal(seen.names, "Relu/1 value.kind/1 Relu/2 ");
    assert_int_equal(seen.after, 3);
    execution_release(execution);
    vm_machine_deinit(&machine);
}

static void test_instrument_may_skip(void **state) {
    (void)state;
    VmMachine machine = vm_machine(CALLS, "cpu");
    for (uint32_t skipped = 1; skipped <= 3; skipped++) {
        Seen seen = {.skip_at = skipped};
        Execution *execution = vm_start(&machine, "f", NULL, 0, NULL);
        execution_set_instrument(execution, watch, &seen);
        assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
        uint32_t count;
        const Value *fields = value_children(execution_get_result(execution), &count);
        if (skipped < 3) assert_int_equal(fields[skipped - 1].tag, VALUE_NIL);
        assert_true(fields[2].tensor->written == (skipped != 3));
        execution_release(execution);
    }
    vm_machine_deinit(&machine);
}

static const char CLOSURES[] =
    "packed value.kind(1)\n"
    "function pair(2) {\n Call &value.kind, r0 -> r2\n AllocADT 0, r2, r1 -> r2\n Ret r2\n}\n"
    "function f() exported {\n AllocClosure &pair, last, 7 -> r0\n InvokeClosure r0, 3 -> r1\n"
    " AllocADT 0, r0, r1 -> r2\n Ret r2\n}\n";
enum { CLOSURE_INSTRUCTIONS = 7 };

static Error *watch_closures(
    void *context, const InstrumentCall *call, InstrumentAnswer *out_answer) {
    Seen *seen = context;
    const size_t used = strlen(seen->names);
    (void)snprintf(seen->names + used, sizeof seen->names - used, "%s%s/%u ",
        call->before ? "" : "after ", call->name, call->argument_count);
    assert_int_equal(call->nested, strcmp(call->name, "vm.builtin.invoke_closure") == 0);
    if (!call->before) assert_int_equal(call->results[0].tag, VALUE_OBJECT);
    if (call->before && ++seen->before == seen->skip_at) *out_answer = INSTRUMENT_SKIP;
    return NULL;
}

/* A closure's end is told also where the execution was suspended inside the closure. */
static void test_instrument_sees_closures(void **state) {
    (void)state;
    VmMachine machine = vm_machine(CLOSURES, "cpu");
    for (uint64_t budget = 0; budget < CLOSURE_INSTRUCTIONS; budget++) {
        Seen seen = {0};
        Execution *execution = vm_start(&machine, "f", NULL, 0, NULL);
        execution_set_instrument(execution, watch_closures, &seen);
        if (budget > 0) assert_int_equal(vm_run(execution, budget), RUN_SUSPENDED);
        assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
        assert_string_equal(seen.names,
            "vm.builtin.make_closure/1 after vm.builtin.make_closure/1 "
            "vm.builtin.invoke_closure/2 value.kind/1 after value.kind/1 "
            "after vm.builtin.invoke_closure/0 ");
        execution_release(execution);
    }
    Seen seen = {.skip_at = 2};
    Execution *execution = vm_start(&machine, "f", NULL, 0, NULL);
    execution_set_instrument(execution, watch_closures, &seen);
    assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
    uint32_t count;
    assert_int_equal(value_children(execution_get_result(execution), &count)[1].tag, VALUE_NIL);
    execution_release(execution);
    vm_machine_deinit(&machine);
}

int test_instrument(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_instrument_sees_operators_and_packed_functions),
        cmocka_unit_test(test_instrument_may_skip),
        cmocka_unit_test(test_instrument_sees_closures),
    };
    return cmocka_run_group_tests_name("instrument", tests, NULL, NULL);
}
