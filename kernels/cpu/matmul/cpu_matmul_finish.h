#pragma once
/* Stores a block of an inner kernel from its registers, sums[ROWS][VECTORS] of LANES columns each:
 * to tile->out, or by tile->finish. `out` is the place of the block's first sum, `row` and COLUMN
 * are the block's first ones in the tile. The level defines load_part, store_part, relu, and PART,
 * their argument for vector v. Included by cpu_matmul_micro_avx2.c and cpu_matmul_micro_avx512.c.
 * Pure: no state. */
#include "kernels/cpu/matmul/cpu_matmul_kernel.h"
#include "kernels/cpu/core/cpu_vector.h"

#define CPU_EACH_SUM(ROWS, VECTORS)                                                                \
    CPU_UNROLL for (int r = 0; r < (ROWS); r++) CPU_UNROLL for (int v = 0; v < (VECTORS); v++)

#define CPU_LEAVE_SUMS(ROWS, VECTORS, LANES, COLUMN)                                               \
    do {                                                                                           \
        const CpuTileFinish *finish = tile->finish;                                                \
        const int64_t out_row = finish ? finish->to_row : tile->out_row;                           \
        if (finish) out = finish->to + row * out_row + (COLUMN);                                   \
        if (finish && finish->bias) {                                                              \
            const float *bias = finish->bias + (COLUMN);                                           \
            CPU_EACH_SUM(ROWS, VECTORS)                                                            \
            sums[r][v] += load_part(bias + v * (LANES), PART(VECTORS));                            \
        }                                                                                          \
        if (finish && finish->residual) {                                                          \
            const float *residual = finish->residual + row * out_row + (COLUMN);                   \
            CPU_EACH_SUM(ROWS, VECTORS)                                                            \
            sums[r][v] += load_part(residual + r * out_row + v * (LANES), PART(VECTORS));          \
        }                                                                                          \
        if (finish && finish->relu) CPU_EACH_SUM(ROWS, VECTORS) sums[r][v] = relu(sums[r][v]);     \
        CPU_EACH_SUM(ROWS, VECTORS)                                                                \
        store_part(out + r * out_row + v * (LANES), PART(VECTORS), sums[r][v]);                    \
    } while (0)
