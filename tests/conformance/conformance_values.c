#include "tests/conformance/conformance.h"

bool conformance_values_applies(const ConformanceDevice *on, const ConformanceCase *row) {
    (void)on;
    return row->reference != NULL;
}

Error *conformance_values(const ConformanceDevice *on, const ConformanceCase *row, DType dtype) {
    ConformanceRun run;
    conformance_prepare(on->device, row, dtype, &run);
    Error *error = device_call_run(&run.call, run.outputs, &run.kernel_name);
    if (!error) {
        error = conformance_compare(&run, row, dtype);
        if (error) error = error_wrap(error, "%s", run.kernel_name);
    }
    conformance_run_deinit(&run);
    return error;
}
