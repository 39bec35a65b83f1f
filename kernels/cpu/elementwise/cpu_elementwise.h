#pragma once
/* Elementwise operators and FusedElementwise as programs of loops: the same for every device that
 * has those loops. */
#include "kernels/cpu/elementwise/cpu_pointwise.h"

/* level: whose loops are put in. What has no loop sets (*out)->missing. Errors: INVALID a program
 * that cannot be read. */
MUST_CHECK Error *cpu_elementwise_lower(
    const PlanRequest *request, CpuLevel level, CpuPointwise **out);
