#pragma once
/* A row of pool outputs that takes its windows one kernel position at a time, for each element
 * type. Called by cpu_pool.c, on the threads of a launch. Pure: no state. */
#include "kernels/cpu/core/cpu_internal.h"

typedef struct CpuPoolRow {
    /* Sets the outputs' initial value: the least value, or 0. */
    void (*start)(void *y, int64_t count);
    /* y[i] takes x[start + i * stride] if that index is in 0 … size. */
    void (*take)(
        const void *x, int64_t start, int64_t stride, int64_t size, int64_t count, void *y);
    /* Averages only. */
    void (*divide)(void *y, int64_t count, int64_t divisor);
    /* Equal, or both NaN. */
    bool (*same)(const void *a, const void *b);
} CpuPoolRow;

/* dtype: float32, float64, and for maxima int8, uint8; NULL for others. */
const CpuPoolRow *cpu_pool_row_for(CpuLevel level, DType dtype, bool is_average);
