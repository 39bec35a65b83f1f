#pragma once
/* The inner kernels of products with weights in blocks: weights of two, four and eight bits become
 * floats, and rows are multiplied with columns. The bits are the same at every level: each sum has
 * sixteen lanes, to which the elements of the depth are added in rising order by fused multiply and
 * add, and cpu_f32x16_sum adds the lanes. Caller: cpu_blocks_matmul.c. Pure: no state. */
#include "kernels/cpu/core/cpu_internal.h"

enum {
    CPU_BLOCKS_LANES = 16,
    CPU_BLOCKS_CODES = 16, /* values of four bits */
    CPU_BLOCKS_ROWS = 4,   /* that share a code while it is a float in a register */
};

/* Weights [columns, depth] in blocks along the depth. Codes of each column begin at a byte and
 * follow each other from the lowest bits on; zero points do so over all columns. */
typedef struct CpuBlocks {
    int64_t columns, depth, block, blocks; /* block: a multiple of 16, but for cpu_blocks_plain */
    uint32_t bits;                         /* 2, 4 or 8 */
    bool is_signed, has_zeros;
    const uint8_t *codes, *zeros;
    const float *scales;
    /* What codes of two and four bits stand for, by the bits of their zero point and by their low
     * four bits. */
    float values[CPU_BLOCKS_CODES][CPU_BLOCKS_CODES];
} CpuBlocks;

/* Fills `values` with numbers less zero points. Other values take the place of values[0]. */
void cpu_blocks_init_values(CpuBlocks *blocks);

/* The bits of a zero point, by the number of its block over all columns. */
static inline uint32_t cpu_blocks_zero(const CpuBlocks *blocks, int64_t index) {
    if (!blocks->has_zeros) return 0;
    const uint64_t bit = (uint64_t)index * blocks->bits;
    return (uint32_t)blocks->zeros[bit / 8] >> bit % 8 & ((1u << blocks->bits) - 1);
}
/* Of eight bits: the zero point as a number. */
static inline float cpu_blocks_zero_8(const CpuBlocks *blocks, int64_t index) {
    const uint32_t bits = cpu_blocks_zero(blocks, index);
    return blocks->is_signed ? (float)(int8_t)bits : (float)bits;
}
/* The number that an element's code stands for without its scale. */
float cpu_blocks_value(const CpuBlocks *blocks, int64_t column, int64_t k);

/* (code - zero point) * scale of `count` elements of a column from `first` on, a multiple of 16.
 * Writes a multiple of 16 elements, 0 after the last. */
typedef void CpuBlocksWiden(
    const CpuBlocks *blocks, int64_t column, int64_t first, int64_t count, float *to);
CpuBlocksWiden *cpu_blocks_widen_for(CpuLevel level, uint32_t bits);
/* The same for blocks of any size, and columns that do not begin at a byte. */
void cpu_blocks_widen_plain(
    const CpuBlocks *blocks, int64_t column, int64_t first, int64_t count, float *to);

/* Zero points of columns as floats, [columns, blocks]. column * blocks: a multiple of 16. Writes up
 * to 15 floats more. */
void cpu_blocks_zeros(
    const CpuBlocks *blocks, CpuBlocksWiden *widen, int64_t column, int64_t columns, float *to);

/* Rows of A times columns of weights, both with their depth in memory one after the other. */
typedef struct CpuBlocksTile {
    const float *a, *weights;
    int64_t a_row, weights_row; /* floats from one to the next */
    int64_t rows, columns;
    int64_t depth; /* a multiple of 16 */
    float *sums;   /* [rows, sums_row, 16]: used between the parts of a depth */
    int64_t sums_row;
    float *out; /* written by the last part */
    int64_t out_row;
    bool accumulate; /* to what sums hold; else to 0 */
    bool is_last;
} CpuBlocksTile;

typedef void CpuBlocksProduct(const CpuBlocksTile *tile);
CpuBlocksProduct *cpu_blocks_product_for(CpuLevel level);

/* A few rows times columns, straight from the codes. */
typedef struct CpuBlocksRows {
    const CpuBlocks *blocks; /* its depth is a multiple of 16 */
    const float *a;          /* in the order of cpu_blocks_order_rows */
    int64_t rows;
    int64_t column, columns;
    float *out;         /* of the first row and column 0 */
    const float *zeros; /* cpu_blocks_zeros of these columns; NULL without zero points */
} CpuBlocksRows;

typedef void CpuBlocksRowsRun(const CpuBlocksRows *rows);
/* NULL: there is no such code for this level. */
CpuBlocksRowsRun *cpu_blocks_rows_for(CpuLevel level, uint32_t bits, bool is_signed);
/* Sixteen elements of A in the order in which codes of four bits leave their words: 0, 8, 1, 9, …;
 * codes of other sizes keep theirs. depth: a multiple of 16. */
void cpu_blocks_order_rows(uint32_t bits, const float *from, int64_t depth, float *to);
