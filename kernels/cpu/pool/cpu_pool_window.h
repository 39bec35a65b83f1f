#pragma once
/* A row of pool outputs of float32 over rows with the padding written out. Called by cpu_pool.c, on
 * the threads of a launch. Pure: no state. */
#include "kernels/cpu/conv/cpu_plane.h"

/* Computes whole vectors of outputs: up to 15 more than the plane's width. x: output 0's corner. */
typedef void CpuPoolWindow(const CpuPlane *plane, const float *x, float *y);
typedef enum CpuPoolCombine {
    CPU_POOL_MAX,
    CPU_POOL_MAX_OF_NUMBERS, /* no element of the rows is a NaN: a comparison less for each */
    CPU_POOL_SUM,
} CpuPoolCombine;
/* Each output takes its window in the kernel's order: the same bits at every level, and as with
 * cpu_pool_row.h where padding is the least value or 0. */
CpuPoolWindow *cpu_pool_window_for(CpuLevel level, CpuPoolCombine combine, int64_t stride);

/* out: whether none of `count` floats is a NaN. */
typedef void CpuPoolNumbers(const float *x, int64_t count, bool *out);
CpuPoolNumbers *cpu_pool_numbers_for(CpuLevel level);
