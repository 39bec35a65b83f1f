#pragma once
/* Adds blocks at their places in an image, one kernel position after the other: for Col2Im, and for
 * ConvTranspose after its products. Called by cpu_col_2_im.c and cpu_conv_transpose*.c, on the
 * threads of a launch. Pure: no state. */
#include "kernels/arguments/window.h"

/* to[i * step] += from[i], times *factor if the row has a factor. */
typedef void CpuFoldRow(
    void *to, int64_t step, const void *from, int64_t count, const void *factor);

typedef struct CpuFold {
    uint32_t rank;
    int64_t kernel[WINDOW_RANK_MAX], stride[WINDOW_RANK_MAX], dilation[WINDOW_RANK_MAX];
    int64_t pad[WINDOW_RANK_MAX]; /* in front */
    int64_t blocks[WINDOW_RANK_MAX];
    int64_t image[WINDOW_RANK_MAX];
    int64_t size; /* of an element, in bytes */
    CpuFoldRow *row;
} CpuFold;

/* image, blocks: the two sides of the window. */
void cpu_fold_make(const Window *window, const int64_t *image, const int64_t *blocks, int64_t size,
    CpuFoldRow *row, CpuFold *out);
/* Adds one element of each block, row-major at `from`, to the image `to`: the element at that
 * kernel position. */
void cpu_fold_position(
    const CpuFold *fold, int64_t position, const void *from, const void *factor, void *to);
