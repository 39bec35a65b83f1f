#include "tests/fuzz/fuzz_run.h"

#include <assert.h>

#include "kernels/registry/device_registry.h"

enum {
    RUN_INSTRUCTIONS = 2000,
    MEMORY_LIMIT = 16 << 20,
    DEPTH_LIMIT = 1000,
    CONSTANT_BYTES_MAX = 16 << 20
};

Device *fuzz_device(void) {
    static Device *device;
    if (!device) {
        Error *error = device_open("cpu", &device);
        assert(!error);
        (void)error;
    }
    return device;
}

const ExecutionOptions *fuzz_options(void) {
    static const ExecutionOptions options = {.memory_limit_bytes = {MEMORY_LIMIT, MEMORY_LIMIT},
        .depth_limit = DEPTH_LIMIT,
        .yield_limit = 16};
    return &options;
}

void fuzz_run_execution(Execution *execution) {
    RunResult result;
    Value yielded;
    uint64_t sequence;
    error_free(execution_run(execution, (Budget){RUN_INSTRUCTIONS}, &result));
    while (execution_take_yield(execution, &yielded, &sequence)) value_release(&yielded);
}

void fuzz_run_executable(Executable *executable) {
    OWN(Residency, residency) = NULL;
    if (executable_constant_bytes(executable) > CONSTANT_BYTES_MAX) return;
    Error *error = residency_create(executable, fuzz_device(), fuzz_device(), NULL, &residency);
    for (uint32_t i = 0; !error && i < executable->function_count; i++) {
        const Function *function = &executable->functions[i];
        OWN(Execution, execution) = NULL;
        if (function->kind != FUNCTION_BYTECODE || function->parameter_count > 0) continue;
        error_free(execution_create(residency, fuzz_options(), i, NULL, 0, &execution));
        if (execution) fuzz_run_execution(execution);
    }
    error_free(error);
}
