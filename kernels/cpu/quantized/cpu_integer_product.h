#pragma once
/* Products of matrices of 16-bit integers, summed modulo 2^32: exact, so the bits are the same at
 * every instruction set, in every order and on every number of threads. Called by the kernels of
 * integer products, on the threads of a launch. Pure: no state.
 *
 * Bytes of either sign minus their zero points (-255 … 255) are such integers, and a sum of two
 * products of them fits 32 bits. Both operands are stored in pairs along the depth: an odd depth
 * ends with a 0. */
#include "kernels/cpu/core/cpu_internal.h"

enum {
    CPU_INTEGER_PANEL = 16, /* columns of B that lie together: [pair][column][2] */
    CPU_INTEGER_ROWS = 32,
    CPU_INTEGER_COLUMNS = 64,
};

/* out[r][c] = the sum over p of a[r][2p] b[p][c][0] + a[r][2p + 1] b[p][c][1]. */
typedef struct CpuIntegerTile {
    int64_t rows, pairs;
    int64_t panels; /* of columns; out has room for all of them */
    const int16_t *a;
    int64_t a_row; /* int16 from one row to the next */
    const int16_t *b;
    int64_t b_panel; /* int16 from one panel to the next */
    int32_t *out;
    int64_t out_row;
} CpuIntegerTile;

typedef void CpuIntegerProduct(const CpuIntegerTile *tile);
CpuIntegerProduct *cpu_integer_product_for(CpuLevel level);
/* Computes the tile's product in pieces of its depth, and checks the stop between them. */
void cpu_integer_sum(CpuIntegerProduct *product, const CpuIntegerTile *tile);
