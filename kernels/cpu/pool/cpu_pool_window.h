#pragma once
/* A row of pool outputs of float32 over rows with the padding written out. Called by cpu_pool.c, on
 * the threads of a launch. Pure: no state. */
#include "kernels/cpu/conv/cpu_plane.h"

/* Computes whole vectors of outputs: up to 15 more than the plane's width. x: output 0's corner. */
typedef void CpuPoolWindow(const CpuPlane *plane, const float *x, float *y);
/* Maxima, or sums. Each output takes its window in the kernel's order: the same bits at every
 * level, and as with cpu_pool_row.h where padding is the least value or 0. */
CpuPoolWindow *cpu_pool_window_for(CpuLevel level, bool is_average, int64_t stride);
