#pragma once
/* One row of cases.def on one device, and what must hold of it: the checks of checks.def.
 *
 * Nothing here needs a test framework, so that the same checks run on a machine that has none. */
#include "tests/conformance/case_table.h"
#include "tests/support/device_call.h"

enum { CONFORMANCE_OUTPUTS_MAX = DEVICE_CALL_OUTPUTS_MAX };

typedef struct ConformanceDevice {
    const char *spec; /* as given; borrowed */
    Device *device;
    Device *cpu;     /* the host's, to compare with */
    bool same_class; /* both are of one determinism class: the same bits */
} ConformanceDevice;

/* spec: as cuda_shim_open. Errors: as device_open. */
MUST_CHECK Error *conformance_device_open(const char *spec, ConformanceDevice *out);
void conformance_device_deinit(ConformanceDevice *on);

typedef struct ConformanceRun {
    DeviceCall call;
    Tensor *outputs[CONFORMANCE_OUTPUTS_MAX];
    const char *kernel_name;
} ConformanceRun;

/* Inputs made, nothing run. */
void conformance_prepare(
    Device *device, const ConformanceCase *row, DType dtype, ConformanceRun *out);
void conformance_run_deinit(ConformanceRun *run);
void conformance_release_outputs(Tensor **outputs);
/* NULL when the outputs are what the row's reference computes, else the first that is not. */
MUST_CHECK Error *conformance_compare(
    const ConformanceRun *run, const ConformanceCase *row, DType dtype);
/* Against what another device made of the same inputs, within the operator's tolerance. */
MUST_CHECK Error *conformance_compare_outputs(
    const ConformanceRun *run, const ConformanceCase *row, Tensor *const *expected);
/* Shape, element type and bytes of all outputs. */
uint64_t conformance_hash(const ConformanceRun *run);

/* One element type of one row. Errors: UNSUPPORTED when nothing serves it; whatever else is a
 * failure. */
typedef Error *ConformanceCheck(
    const ConformanceDevice *on, const ConformanceCase *row, DType dtype);
/* What a device does not do, and why: a row of unsupported.def. */
typedef struct ConformanceUnsupported {
    const char *device, *operator_name, *dtypes, *reason;
} ConformanceUnsupported;

/* The last has no device. */
extern const ConformanceUnsupported conformance_unsupported[];

typedef struct ConformanceCheckInfo {
    const char *name;
    const char *promise; /* what holds, in words */
    ConformanceCheck *check;
    bool (*applies)(const ConformanceDevice *on, const ConformanceCase *row);
    const ConformanceUnsupported *unsupported; /* what may be refused */
} ConformanceCheckInfo;

/* In the order of checks.def. */
extern const ConformanceCheckInfo conformance_checks[];
extern const uint32_t conformance_check_count;
/* NULL when unknown. */
const ConformanceCheckInfo *conformance_check_find(const char *name);

#define CHECK(name, promise)                                                                       \
    ConformanceCheck conformance_##name;                                                           \
    bool conformance_##name##_applies(const ConformanceDevice *on, const ConformanceCase *row);
#include "tests/conformance/cases/checks.def"
#undef CHECK
