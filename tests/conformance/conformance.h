#pragma once
/* Running one row of cases.def on one device, and comparing with the reference. */
#include "tests/conformance/case_table.h"
#include "tests/support/device_call.h"

enum { CONFORMANCE_OUTPUTS_MAX = DEVICE_CALL_OUTPUTS_MAX };

typedef struct ConformanceRun {
    DeviceCall call;
    Tensor *outputs[CONFORMANCE_OUTPUTS_MAX];
    const char *kernel_name;
} ConformanceRun;

/* Inputs made, nothing run. */
void conformance_prepare(
    Device *device, const ConformanceCase *row, DType dtype, ConformanceRun *out);
/* Releases inputs and outputs. */
void conformance_run_deinit(ConformanceRun *run);
/* NULL when it fits, else what does not; the row is named. */
MUST_CHECK Error *conformance_compare(
    const ConformanceRun *run, const ConformanceCase *row, DType dtype);
/* Shape, element type and bytes of all outputs. */
uint64_t conformance_hash(const ConformanceRun *run);

/* Calls check for every row and element type, prints each failure, then fails if there was one.
 * check may answer UNSUPPORTED for what unsupported[] names. */
typedef Error *ConformanceCheck(Device *device, const ConformanceCase *row, DType dtype);
void conformance_for_each(const char *device_spec, ConformanceCheck *check);
