#pragma once
/* Which of the CUDA kernels serves a call. */
#include "kernels/operator/kernel.h"
#include "kernels/operator/plan.h"

enum { CUDA_KERNELS_VERSION = 1 /* raise when any kernel's bits change */ };

/* Rows of cuda_tables.def, NULL-terminated, in the order they are asked. */
const Kernel *const *cuda_plan_tables(void);
/* The first kernel of `table` that takes the request; NULL in *out where none does. */
MUST_CHECK Error *cuda_plan_by_table(
    Device *device, const Kernel *table, const PlanRequest *request, Plan **out);
/* What a device with kernels in these tables does with a request: a view, one of the tables'
 * kernels, the operator's expansion, or the kernel of `host` with copies, whichever comes first.
 *
 * host:   a device of host memory; outlives the plan.
 * tables: NULL-terminated, in the order they are asked.
 * Errors: UNSUPPORTED not even the host can; INVALID the shapes do not fit. */
MUST_CHECK Error *cuda_plan(Device *device, Device *host, const Kernel *const *tables,
    const PlanRequest *request, Plan **out);
