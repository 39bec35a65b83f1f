#include <math.h>

#include "tests/conformance/conformance.h"

bool conformance_expansion_applies(const ConformanceDevice *on, const ConformanceCase *row) {
    (void)on;
    return row->reference && operator_find(row->operator_name)->expansion[0];
}

/* A fused kernel rounds less often than the plain operators it stands for. */
static Error *compare(const ConformanceRun *run, const Tensor *fused, const Tensor *plain) {
    if (fused->dtype != plain->dtype || !shape_equal(&fused->shape, &plain->shape))
        FAIL(INTERNAL, "another shape");
    double allowed = dtype_bits(fused->dtype) >= 32 ? 4e-5 : 2e-2;
    for (int64_t i = 0; i < shape_count_unchecked(&fused->shape); i++) {
        double a = device_tensor_get(fused, i), b = device_tensor_get(plain, i);
        bool same = a == b || (isnan(a) && isnan(b));
        if (!same && !(fabs(a - b) <= allowed * (1 + fabs(b))))
            FAIL(INTERNAL, "%s: %.9g, the expansion: %.9g", run->kernel_name, a, b);
    }
    return NULL;
}

static Error *check(
    ConformanceRun *run, ConformanceRun *plain, const ConformanceCase *row, DType dtype) {
    TRY(device_call_run(&run->call, run->outputs, &run->kernel_name));
    TRY_WRAP(device_call_run(&plain->call, plain->outputs, NULL), "the expansion");
    for (uint32_t i = 0; i < CONFORMANCE_OUTPUTS_MAX && run->outputs[i]; i++)
        TRY_WRAP(compare(run, run->outputs[i], plain->outputs[i]), "output %u", i);
    /* narrow types are rounded between the steps, the reference only at the end */
    if (dtype_bits(dtype) >= 32) TRY_WRAP(conformance_compare(plain, row, dtype), "the expansion");
    return NULL;
}

Error *conformance_expansion(const ConformanceDevice *on, const ConformanceCase *row, DType dtype) {
    ConformanceRun run, plain;
    conformance_prepare(on->device, row, dtype, &run);
    conformance_prepare(on->device, row, dtype, &plain);
    plain.call.expand = true;
    plain.call.threads = 3;
    Error *error = check(&run, &plain, row, dtype);
    conformance_run_deinit(&plain);
    conformance_run_deinit(&run);
    return error;
}
