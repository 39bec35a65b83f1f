#include "tests/vm/vm_fixture.h"

#include "base/allocator.h"
#include "kernels/registry/device_registry.h"
#include "vm/assembly/assembly.h"

Executable *vm_parse(const char *text) {
    Executable *executable;
    assert_ok(assembly_parse(text, strlen(text), &executable));
    return executable;
}

VmMachine vm_machine(const char *text, const char *device) {
    VmMachine machine = {.executable = vm_parse(text)};
    assert_ok(device_open("cpu", &machine.cpu));
    assert_ok(device_open(device, &machine.device));
    assert_ok(residency_create(
        machine.executable, machine.cpu, machine.device, NULL, &machine.residency));
    return machine;
}

void vm_machine_deinit(VmMachine *machine) {
    residency_release(machine->residency);
    executable_release(machine->executable);
    device_close(machine->device);
    device_close(machine->cpu);
}

Execution *vm_start(const VmMachine *machine, const char *function, const Value *arguments,
    uint32_t argument_count, const ExecutionOptions *options) {
    uint32_t index;
    Execution *execution;
    assert_ok(executable_find_function(machine->executable, function, &index));
    assert_ok(execution_create(
        machine->residency, options, index, arguments, argument_count, &execution));
    return execution;
}

RunKind vm_run(Execution *execution, uint64_t instructions) {
    RunResult result;
    assert_ok(execution_run(execution, (Budget){instructions}, &result));
    return result.kind;
}

Value vm_evaluate(const char *text, const char *function) {
    VmMachine machine = vm_machine(text, "cpu");
    Execution *execution = vm_start(&machine, function, NULL, 0, NULL);
    assert_int_equal(vm_run(execution, 0), RUN_FINISHED);
    Value result = value_copy(*execution_get_result(execution));
    assert_false(value_is(&result, OBJECT_TENSOR)); /* its device goes with the machine */
    execution_release(execution);
    vm_machine_deinit(&machine);
    return result;
}

static Tensor *host_tensor(DType dtype, uint32_t count, const void *values) {
    Shape shape = shape_make(1, (int64_t[]){count});
    Tensor *tensor;
    assert_ok(tensor_create_on_host(device_host(), dtype, &shape, &tensor));
    if (count) memcpy(tensor_data(tensor), values, tensor_bytes(tensor));
    return tensor;
}

Tensor *vm_floats(uint32_t count, const float *values) {
    return host_tensor(DTYPE_FLOAT32, count, values);
}
Tensor *vm_ints(uint32_t count, const int64_t *values) {
    return host_tensor(DTYPE_INT64, count, values);
}

static void free_block(void *owner) { memory_free(owner); }

Storage *vm_storage(uint64_t size) {
    void *block;
    assert_ok(memory_alloc(size, 1, &block));
    Storage *storage;
    assert_ok(storage_create_foreign(
        device_host(), 0, (uint64_t)(uintptr_t)block, size, block, free_block, &storage));
    return storage;
}
