#pragma once
/* Small machines for tests of the vm: a text, its executable, a residency, executions. */
#include "kernels/tensor/tensor.h"
#include "tests/support/test_support.h"
#include "vm/execution/execution.h"
#include "vm/objects/object.h"

typedef struct VmMachine {
    Device *cpu, *device;
    Executable *executable;
    Residency *residency;
} VmMachine;

Executable *vm_parse(const char *text);
/* Slot 1 is on `device`: "cpu", "sim:0". */
VmMachine vm_machine(const char *text, const char *device);
void vm_machine_deinit(VmMachine *machine);
/* Fails the test on an error. */
Execution *vm_start(const VmMachine *machine, const char *function, const Value *arguments,
    uint32_t argument_count, const ExecutionOptions *options);
RunKind vm_run(Execution *execution, uint64_t instructions);
/* Runs a function without arguments to its end on cpu. */
Value vm_evaluate(const char *text, const char *function);

/* float32 on the host. */
Tensor *vm_floats(uint32_t count, const float *values);
/* int64 on the host. */
Tensor *vm_ints(uint32_t count, const int64_t *values);
Storage *vm_storage(uint64_t size);
