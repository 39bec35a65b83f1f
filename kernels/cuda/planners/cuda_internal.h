#pragma once
/* The functions that all planners of the CUDA kernels use. Pure: no state of their own.
 *
 * A file cuda_<family>.c ends with `const Kernel cuda_<family>[] = {…, KERNELS_END};` and is named
 * in cuda_tables.def and meson.build. Its plan functions check requests and fill the known part of
 * a kernel's parameters; a launch copies those, adds the addresses and starts the kernel. Neither
 * plans nor the bits of results depend on the GPU. */
#include "kernels/cuda/runtime/cuda_launch.h"
#include "kernels/cuda/planners/cuda_params.h"
#include "kernels/operator/kernel.h"
#include "kernels/operator/plan.h"

#define KERNEL_TABLE(table) extern const Kernel table[];
#include "kernels/cuda/planners/cuda_tables.def"
#undef KERNEL_TABLE

enum {
    CUDA_BLOCKS_MAX = 1 << 16 /* kernels continue by whole grids, so more blocks would only
                               * cost time */
};

static inline CudaGrid cuda_grid(uint64_t blocks) {
    uint32_t count = blocks < CUDA_BLOCKS_MAX ? (uint32_t)blocks : CUDA_BLOCKS_MAX;
    return (CudaGrid){{count, 1, 1}, {CUDA_THREADS, 1, 1}, 0};
}

/* The number of blocks with one thread for each unit. */
static inline uint64_t cuda_blocks(uint64_t units) {
    return units / CUDA_THREADS + (units % CUDA_THREADS != 0);
}

static inline MUST_CHECK Error *cuda_run_blocks(const Plan *plan, const Launch *launch,
    CudaKernelId kernel, uint64_t blocks, const void *params, size_t params_size) {
    const CudaGrid grid = cuda_grid(blocks);
    if (blocks == 0) return NULL;
    return cuda_launch(plan->device, launch->stream, kernel, &grid, params, params_size);
}

/* Starts one thread for each unit. */
static inline MUST_CHECK Error *cuda_run_units(const Plan *plan, const Launch *launch,
    CudaKernelId kernel, uint64_t units, const void *params, size_t params_size) {
    return cuda_run_blocks(plan, launch, kernel, cuda_blocks(units), params, params_size);
}

static inline uint32_t cuda_element_size(const TensorSpec *spec) {
    return dtype_bits(spec->dtype) / 8;
}

/* Returns NULL to decline the request, so that the next row is asked: `return
 * cuda_decline(out);`. */
static inline MUST_CHECK Error *cuda_decline(Plan **out) {
    *out = NULL;
    return NULL;
}
