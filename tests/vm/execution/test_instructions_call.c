#include "tests/vm/vm_fixture.h"
#include "vm/execution/execution.h"

static void test_calls_move_last_uses(void **state) {
    (void)state;
    /* the list is appended to in place only if the caller let go of it */
    Value result = vm_evaluate(
        "function add(1) last_uses {\n ListAppend r0, 2 -> r1\n Ret r1\n}\n"
        "function f() exported last_uses {\n ListNew 1 -> r0\n Invoke &add, r0 -> r0\n Ret r0\n}\n",
        "f");
    uint32_t count;
    (void)value_children(&result, &count);
    assert_int_equal(count, 2);
    value_release(&result);
}

static Error *forge_tail(
    PackedCall *call, const Value *arguments, uint32_t count, void *context, Value *out_result) {
    (void)arguments;
    (void)count;
    (void)context;
    (void)out_result;
    call->tail_function = 12345;
    return NULL;
}
static Error *give_foreign(
    PackedCall *call, const Value *arguments, uint32_t count, void *context, Value *out_result) {
    (void)call;
    (void)arguments;
    (void)count;
    (void)context;
    Tensor *tensor = vm_floats(1, (float[]){1});
    tensor->storage->slot = 1; /* but in host memory, where slot 1 is sim:0 */
    *out_result = value_object(OBJECT_TENSOR, tensor);
    return NULL;
}

static void test_calls_refuse_what_packed_functions_forge(void **state) {
    (void)state;
    VmMachine machine = vm_machine("packed tail(0)\npacked foreign(0)\nfunction a() exported {\n "
                                   "Call &tail -> r0\n Ret r0\n}\n"
                                   "function b() exported {\n Call &foreign -> r0\n Ret r0\n}\n",
        "sim:0");
    PackedRegistry *registry;
    assert_ok(packed_registry_create(&registry));
    assert_ok(packed_registry_add(registry, "tail", 0, forge_tail, NULL, NULL));
    assert_ok(packed_registry_add(registry, "foreign", 0, give_foreign, NULL, NULL));
    ExecutionOptions options = {.packed = registry};
    Execution *execution = vm_start(&machine, "a", NULL, 0, &options);
    RunResult result;
    assert_fails_saying(
        INVALID, "a tail call of function 12345", execution_run(execution, (Budget){0}, &result));
    execution_release(execution);
    execution = vm_start(&machine, "b", NULL, 0, &options);
    assert_fails_saying(INVALID, "outside this execution's devices",
        execution_run(execution, (Budget){0}, &result));
    execution_release(execution);
    packed_registry_release(registry);
    vm_machine_deinit(&machine);
}

int test_instructions_call(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_move_last_uses),
        cmocka_unit_test(test_calls_refuse_what_packed_functions_forge),
    };
    return cmocka_run_group_tests_name("instructions_call", tests, NULL, NULL);
}
