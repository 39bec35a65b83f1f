#pragma once
/* The inner kernels of products with weights in blocks: weights of two, four and eight bits become
 * floats, and rows are multiplied with columns. The bits are the same at every level: each sum has
 * sixteen lanes, to which the elements of the depth are added in rising order by fused multiply and
 * add. Caller: cpu_blocks_matmul.c. Pure: no state. */
#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/cpu/elementwise/cpu_small.h"

enum { CPU_BLOCKS_LANES = 16 };

/* The weights of one column: codes that follow each other from a byte's start. */
typedef struct CpuBlocksColumn {
    const uint8_t *codes;
    const float *scales;   /* one for each block */
    const CpuWiden *zeros; /* reads zero points; NULL: none */
    const void *zero_data; /* zero points of all columns */
    uint64_t first_zero;   /* this column's first one */
    int64_t block;         /* a multiple of 16 */
    uint32_t bits;         /* 2, 4 or 8 */
    bool is_signed;
} CpuBlocksColumn;

/* (code - zero point) * scale of `count` elements from `first` on, a multiple of 16. Writes a
 * multiple of 16 elements, 0 after the last. */
typedef void CpuBlocksWiden(const CpuBlocksColumn *column, int64_t first, int64_t count, float *to);
CpuBlocksWiden *cpu_blocks_widen_for(CpuLevel level);

/* Rows of A times columns of weights, both with their depth in memory one after the other. */
typedef struct CpuBlocksTile {
    const float *a, *weights;
    int64_t a_row, weights_row; /* floats from one to the next */
    int64_t rows, columns;
    int64_t depth; /* a multiple of 16 */
    float *sums;   /* [rows, sums_row, 16] */
    int64_t sums_row;
    bool accumulate; /* to what sums hold; else to 0 */
} CpuBlocksTile;

typedef void CpuBlocksProduct(const CpuBlocksTile *tile);
CpuBlocksProduct *cpu_blocks_product_for(CpuLevel level);
