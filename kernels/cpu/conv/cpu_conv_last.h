#pragma once
/* Convolution in float32 over images [N, H, W, C] and volumes [N, D, H, W, C] with packed weights.
 * For each row of the kernel, the windows of a row of outputs are the rows of a matrix that lies in
 * the image unchanged, each row a step after the one before, and the weights are a matrix [kernel
 * width × C, filters]. Called by cpu_conv_images.c when it plans and launches.
 *
 * Every sum is one chain of multiply-adds in the order kernel slice, kernel row, kernel column,
 * channel, started from zero; slices outside the volume are left out: the bits do not depend on
 * tiling, threads or, between AVX2 and AVX-512, the vector width. */
#include "kernels/cpu/conv/cpu_conv_slices.h"
#include "kernels/cpu/matmul/cpu_matmul_kernel.h"

typedef struct CpuConvLast {
    Window window; /* of two dimensions; cpu_conv_last_prepare joins rows that can be joined */
    CpuConvSlices slices;
    int64_t images, groups;    /* images: slices of the outputs, of all volumes */
    int64_t channels, filters; /* of a group */
    bool has_bias, has_residual;
    CpuEpilogue epilogue;
    /* The members below are set by cpu_conv_last_prepare. */
    CpuMatmulCode code;
    CpuEpilogueRowsRun *epilogue_rows;
    int64_t columns, rows;             /* outputs of a block */
    int64_t column_blocks, row_blocks; /* of an image */
    int64_t filters_per_unit;          /* a panel or a part of one */
    bool pads;                         /* windows reach beyond the image */
    bool by_position;                  /* pads and dilates: a product for each kernel position */
    int64_t band_columns, band_rows;   /* pixels of the image that a block reads */
} CpuConvLast;

typedef struct CpuConvLastBuffers {
    const float *x, *w, *bias, *residual; /* w: packed */
    float *y;
    /* cpu_conv_last_scratch_count floats for each part; Winograd: see cpu_winograd.h */
    float *scratch;
} CpuConvLastBuffers;

/* Floats of packed weights: for each group panels as in cpu_matmul_kernel.h of the matrix
 * [kernel slices × kernel height × kernel width × C, filters]. */
int64_t cpu_conv_last_packed_count(const Shape *weights, int64_t groups);
/* weights [groups × filters, C, (kernel slices,) kernel height, kernel width] */
void cpu_conv_last_pack(
    CpuLevel level, const float *weights, const Shape *shape, int64_t groups, float *packed);

/* Chooses the code and the cut into blocks, by shapes alone; called when all other members are
 * set. */
void cpu_conv_last_prepare(CpuConvLast *conv, CpuLevel level);
uint64_t cpu_conv_last_units(const CpuConvLast *conv);
/* How many of `filters` a unit computes, for each of so many blocks of outputs: whole panels,
 * unless threads would have little work (a part of a panel skips lines of memory), and never fewer
 * than `least`. */
int64_t cpu_conv_last_filters_per_unit(
    const CpuDevice *device, uint32_t threads, int64_t blocks, int64_t filters, int64_t least);
int64_t cpu_conv_last_scratch_count(const CpuConvLast *conv);
MUST_CHECK Error *cpu_conv_last_run(CpuDevice *device, const CpuConvLast *conv,
    const CpuConvLastBuffers *buffers, const Launch *launch);
