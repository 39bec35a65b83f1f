#include <string.h>

#include "tests/conformance/conformance.h"

/* The cpu device itself has no peer. */
bool conformance_peer_applies(const ConformanceDevice *on, const ConformanceCase *row) {
    (void)row;
    return strcmp(on->device->class_->kind, on->cpu->class_->kind) != 0;
}

static Error *compare(const ConformanceDevice *on, ConformanceRun *run, const ConformanceCase *row,
    Tensor **outputs_there) {
    const char *kernel_there;
    TRY(device_call_run(&run->call, run->outputs, &run->kernel_name));
    uint64_t here = conformance_hash(run);
    DeviceCall call = run->call;
    call.device = on->cpu;
    TRY_WRAP(device_call_run(&call, outputs_there, &kernel_there), "cpu");
    TRY_WRAP(conformance_compare_outputs(run, row, outputs_there), "%s", run->kernel_name);
    ConformanceRun there = {.call = call};
    memcpy(there.outputs, outputs_there, sizeof there.outputs);
    if (on->same_class && conformance_hash(&there) != here)
        FAIL(INTERNAL, "%s: other bits than %s on cpu, which is of the same determinism class",
            run->kernel_name, kernel_there);
    return NULL;
}

Error *conformance_peer(const ConformanceDevice *on, const ConformanceCase *row, DType dtype) {
    ConformanceRun run;
    Tensor *outputs_there[CONFORMANCE_OUTPUTS_MAX] = {NULL};
    conformance_prepare(on->device, row, dtype, &run);
    Error *error = compare(on, &run, row, outputs_there);
    conformance_release_outputs(outputs_there);
    conformance_run_deinit(&run);
    return error;
}
