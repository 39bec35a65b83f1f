#pragma once
/* Chooses the CUDA kernel for a call. Called by the plan function in cuda_class.c and by the
 * planners in kernels/cuda/library/. Pure: no state. */
#include "kernels/operator/kernel.h"
#include "kernels/operator/plan.h"

enum { CUDA_KERNELS_VERSION = 3 /* raise when any kernel's bits change */ };

/* The tables of cuda_tables.def, NULL-terminated, in the order of the search. */
const Kernel *const *cuda_plan_tables(void);
/* Plans a request on a device with kernels in these tables: a view, one of the tables' kernels, the
 * operator's expansion, or the kernel of `host` with copies, whichever comes first.
 *
 * host:   a device of host memory; outlives the plan.
 * tables: NULL-terminated, in the order of the search.
 * Errors: UNSUPPORTED not even the host can; INVALID the shapes do not fit. */
MUST_CHECK Error *cuda_plan(Device *device, Device *host, const Kernel *const *tables,
    const PlanRequest *request, Plan **out);
