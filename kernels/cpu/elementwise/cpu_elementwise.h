#pragma once
/* Elementwise operators and FusedElementwise as programs of loops, for every device that has those
 * loops. Called by cuda_pointwise.c and cuda_compiled.c when they plan. Pure: no state. */
#include "kernels/cpu/elementwise/cpu_pointwise.h"

/* level: of the loops. An operator without a loop sets (*out)->missing. Errors: INVALID a program
 * that cannot be parsed. */
MUST_CHECK Error *cpu_elementwise_lower(
    const PlanRequest *request, CpuLevel level, CpuPointwise **out);
