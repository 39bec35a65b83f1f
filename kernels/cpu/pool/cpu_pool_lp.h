#pragma once
/* The steps of LpPool before and after the sums: powers of absolute values, and roots. Called by
 * cpu_pool.c, on the thread of a launch. Pure: no state. */
#include "kernels/cpu/core/cpu_internal.h"

/* to[i] = |from[i]|^p for floats of `size` bytes (4 or 8). */
MUST_CHECK Error *cpu_pool_lp_powers(CpuDevice *device, uint32_t threads, int64_t p, uint32_t size,
    uint64_t count, const void *from, void *to);
/* values[i] = values[i]^(1/p) */
void cpu_pool_lp_roots(int64_t p, uint32_t size, int64_t count, void *values);
