#pragma once
/* The results of convolutions of bytes: sums become bytes or int32 at their place in the output.
 * Called by cpu_bytes_conv.c on the threads of a launch. Pure: no state. */
#include "kernels/cpu/quantized/cpu_lower_product.h"
#include "kernels/cpu/quantized/cpu_requantize.h"

/* A block of outputs and a tile of filters of a group. */
typedef struct CpuBytesBlock {
    int64_t image, row, rows, pixel, pixels;
    int64_t group, filter, filters;
} CpuBytesBlock;

enum { CPU_BYTES_SUMS = CPU_LOWER_ROWS * CPU_LOWER_COLUMNS }; /* of a block, at most */

typedef struct CpuBytesResults {
    int64_t height, width; /* of the output */
    int64_t columns;       /* filters of a group */
    int64_t filters;       /* of all groups */
    bool quantizes;        /* to bytes; else the sums stay int32 */
    bool to_planes;        /* the output is [N, M, H, W], else [N, H, W, M] */
    CpuRequantizeRowsRun *requantize;
    CpuRequantizeTo to;
    const int32_t *bias; /* of each filter */
    const float *factors;
    char *y;
} CpuBytesResults;

/* sums: [rows * pixels][CPU_LOWER_COLUMNS]. */
void cpu_bytes_finish(
    const CpuBytesResults *results, const CpuBytesBlock *block, const int32_t *sums);
