#pragma once
/* Rows in bytes times weights in blocks, for products that allow it (activation_bits 8): each block
 * of a row becomes whole numbers from -127 to 127 with a step of its own. The bits are the same at
 * every level: the products of the codes of one word of 32 bits are summed exactly, times the steps
 * of both, and added to one of sixteen lanes, the word's number modulo 16, in rising order by fused
 * multiply and add. Caller: cpu_blocks_matmul.c. Pure: no state. */
#include "kernels/cpu/quantized/cpu_blocks_tile.h"

enum {
    CPU_BLOCKS_VECTOR = 64,              /* bytes */
    CPU_BLOCKS_DOT_ROWS = 8,             /* at a time */
    CPU_BLOCKS_CHUNK_CODES_MAX = 256,    /* of sixteen words */
    CPU_BLOCKS_CHUNK_VECTORS_MAX = 4 + 2 /* bytes of the row, steps, sums */
};

/* How a row in bytes is laid out, by chunks of sixteen words of codes: vectors of bytes, the first
 * with the row's elements for the lowest bits of the words' bytes; then a float step for each word;
 * then for each word the sum of the row's bytes: as float if there are zero points, otherwise as
 * int32 times -(half of a signed code's range). */
typedef struct CpuBlocksDot {
    int64_t chunks;
    int64_t chunk_bytes;
    int64_t chunk_codes;
    int64_t chunk_blocks; /* blocks that begin in a chunk; at least 1 */
    int block_shift;      /* a block has two to the power of this codes */
    /* The block of each word, counted from the chunk's first one. */
    int32_t block_of[CPU_BLOCKS_LANES];
} CpuBlocksDot;

/* Whether blocks of this size are a power of two from 16 on, and columns begin at a byte. */
bool cpu_blocks_dot_takes(const CpuBlocks *blocks);
CpuBlocksDot cpu_blocks_dot_of(const CpuBlocks *blocks);

/* One row of blocks->depth elements to chunks * chunk_bytes. */
typedef void CpuBlocksQuantize(
    const CpuBlocks *blocks, const CpuBlocksDot *dot, const float *from, void *to);
CpuBlocksQuantize *cpu_blocks_quantize_for(CpuLevel level);

typedef struct CpuBlocksDotRows {
    const CpuBlocks *blocks;
    const CpuBlocksDot *dot;
    const uint8_t *a; /* rows in bytes */
    int64_t rows;
    int64_t column, columns;
    float *out; /* of the first row and column 0 */
    /* cpu_blocks_zeros of these columns, with 16 floats that can be read behind them; NULL without
     * zero points. */
    const float *zeros;
} CpuBlocksDotRows;

typedef void CpuBlocksDotRun(const CpuBlocksDotRows *run);
/* For codes of these bits and this sign, with zero points or without. */
CpuBlocksDotRun *cpu_blocks_dot_for(const CpuDevice *device, const CpuBlocks *blocks);
/* The one for AVX2 (cpu_blocks_dot_avx2.c). */
CpuBlocksDotRun *cpu_blocks_dot_avx2(const CpuBlocks *blocks);
