#pragma once
/* Indices that come from data: kernels skip indices out of range and note the first; the launch
 * then reads the note and fails as the cpu's does. Called by cuda_gather.c and cuda_scatter.c.
 * Pure: no state. */
#include "kernels/cuda/planners/cuda_internal.h"
#include "kernels/operator/plan.h"

enum { CUDA_INDEX_WORKSPACE = 64 /* bytes at the workspace's start, which the plan reserves */ };

/* Prepares the index operand of a launch, with its note cleared. */
MUST_CHECK Error *cuda_index_begin(
    const Plan *plan, const Launch *launch, DType dtype, CudaIndices *out);
/* Waits for the launch. dims: the index at position i must lie within dims[i % depth]. Errors:
 * FAILED the first index out of range. */
MUST_CHECK Error *cuda_index_end(const Plan *plan, const Launch *launch, const char *name,
    const CudaIndices *indices, const int64_t *dims, uint32_t depth);
