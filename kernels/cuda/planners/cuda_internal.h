#pragma once
/* What the planners of the CUDA kernels share.
 *
 * A file cuda_<family>.c ends with `const Kernel cuda_<family>[] = {…, KERNELS_END};` and is named
 * in cuda_tables.def and meson.build. Its plan functions check requests and fill a kernel's
 * parameters as far as they are known; a launch copies those, puts the addresses in and starts the
 * kernel. Nothing here depends on which GPU it is, nor does any bit of a result. */
#include "kernels/cuda/runtime/cuda_launch.h"
#include "kernels/cuda/planners/cuda_params.h"
#include "kernels/operator/kernel.h"
#include "kernels/operator/plan.h"

#define KERNEL_TABLE(table) extern const Kernel table[];
#include "kernels/cuda/planners/cuda_tables.def"
#undef KERNEL_TABLE

enum { CUDA_BLOCKS_MAX = 1 << 16 /* kernels walk on by whole grids: more would only cost */ };

static inline CudaGrid cuda_grid(uint64_t blocks) {
    uint32_t count = blocks < CUDA_BLOCKS_MAX ? (uint32_t)blocks : CUDA_BLOCKS_MAX;
    return (CudaGrid){{count, 1, 1}, {CUDA_THREADS, 1, 1}, 0};
}

/* Of blocks with a thread a unit. */
static inline uint64_t cuda_blocks(uint64_t units) {
    return units / CUDA_THREADS + (units % CUDA_THREADS != 0);
}

static inline MUST_CHECK Error *cuda_run_blocks(const Plan *plan, const Launch *launch,
    CudaKernelId kernel, uint64_t blocks, const void *params, size_t params_size) {
    const CudaGrid grid = cuda_grid(blocks);
    if (blocks == 0) return NULL;
    return cuda_launch(plan->device, launch->stream, kernel, &grid, params, params_size);
}

/* One thread a unit. */
static inline MUST_CHECK Error *cuda_run_units(const Plan *plan, const Launch *launch,
    CudaKernelId kernel, uint64_t units, const void *params, size_t params_size) {
    return cuda_run_blocks(plan, launch, kernel, cuda_blocks(units), params, params_size);
}

static inline uint32_t cuda_element_size(const TensorSpec *spec) {
    return dtype_bits(spec->dtype) / 8;
}

/* NULL means the plan may go on to the next row ("not me"): `return cuda_decline(out);`. */
static inline MUST_CHECK Error *cuda_decline(Plan **out) {
    *out = NULL;
    return NULL;
}
