#pragma once
/* Plans of kernels that compute the groups of a reduction in chunks of neighbours, for float32,
 * float64 and, through float32, the half types. Called by cpu_log_sum_exp.c and cpu_mean_variance.c
 * when they plan; launches run on any thread. */
#include "kernels/cpu/core/cpu_groups.h"

/* Computes one chunk. x, y: the input and the output in the type of the function. */
typedef void CpuGroupRun(const CpuGroupChunk *chunk, const void *x, void *y);

/* Plans a request of one input.
 *
 * reduced: the dimensions of the input whose elements form a group.
 * Shapes:  the output has one element for each group, or those of the input. */
MUST_CHECK Error *cpu_group_plan_create(Device *device, const PlanRequest *request,
    const char *kernel_name, const bool reduced[SHAPE_RANK_MAX], CpuGroupRun *run_float32,
    CpuGroupRun *run_float64, Plan **out);
