#pragma once
/* The checks of checks.def over the rows of cases.def: what holds, what fails, what a device may
 * lack. */
#include "tests/conformance/conformance.h"

typedef struct ConformanceTally {
    uint32_t passed, failed, unsupported;
} ConformanceTally;

typedef struct ConformanceFailure {
    const ConformanceDevice *on;
    const ConformanceCheckInfo *check;
    const ConformanceCase *row;
    DType dtype;
    const char *inputs;  /* their element types and shapes, "float32[2,3] int64[1]" */
    const char *message; /* what differs */
} ConformanceFailure;

/* Called for each failure. */
typedef void ConformanceReport(const ConformanceFailure *failure, void *context);

/* Adds to inout_tally. operator_name: NULL for all. */
void conformance_suite_run(const ConformanceDevice *on, const ConformanceCheckInfo *check,
    const char *operator_name, ConformanceReport *report, void *context,
    ConformanceTally *inout_tally);
/* Why this device may refuse that call; NULL when it may not. */
const char *conformance_suite_reason(
    const ConformanceDevice *on, const char *operator_name, DType dtype);
/* One line without newline. */
void conformance_failure_print(const ConformanceFailure *failure, TextBuilder *out);
