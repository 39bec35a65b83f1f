#pragma once
/* Indices that come from data: kernels skip those out of range and note the first; the launch then
 * asks for it and fails as the cpu's does. */
#include "kernels/cuda/planners/cuda_internal.h"
#include "kernels/operator/plan.h"

enum { CUDA_INDEX_WORKSPACE = 64 /* bytes at the workspace's start; the plan asks for them */ };

/* The index operand of a launch, its note cleared. */
MUST_CHECK Error *cuda_index_begin(
    const Plan *plan, const Launch *launch, DType dtype, CudaIndices *out);
/* Waits for the launch. dims: the index at position i must lie within dims[i % depth]. Errors:
 * FAILED the first index out of range. */
MUST_CHECK Error *cuda_index_end(const Plan *plan, const Launch *launch, const char *name,
    const CudaIndices *indices, const int64_t *dims, uint32_t depth);
