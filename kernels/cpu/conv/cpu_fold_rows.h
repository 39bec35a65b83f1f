#pragma once
/* Sums blocks of float32 at their places in an image, row of the image by row: what
 * cpu_fold_position does for all positions, in the same order for each element of the image. The
 * elements of a row that lie a stride apart are summed side by side, by vectors. Called by
 * cpu_conv_transpose.c when it plans and on the threads of a launch. Pure: no state. */
#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/cpu/conv/cpu_fold.h"

enum {
    CPU_FOLD_COLUMNS_MAX = 16,
    CPU_FOLD_STRIDE_MAX = 4,
    CPU_FOLD_WIDTH_MAX = 512,
    CPU_FOLD_SLACK = 16
};

typedef struct CpuFoldRows CpuFoldRows;
/* A row of the image, by its index in each dimension but the last. */
typedef void CpuFoldRowSum(
    const CpuFoldRows *rows, const float *terms, const int64_t *at, float first, float *y);

/* Block i of a row of blocks is added to element (i + skip) × stride + phase of a row of the image,
 * for begin <= i < end. */
typedef struct CpuFoldColumn {
    int64_t phase, skip, begin, end;
} CpuFoldColumn;

struct CpuFoldRows {
    CpuFold fold;
    int64_t outer;       /* positions of the kernel in all dimensions but the last */
    int64_t row_count;   /* rows of the image */
    int64_t block_count; /* blocks, the distance of two positions' terms */
    CpuFoldColumn columns[CPU_FOLD_COLUMNS_MAX];
    CpuFoldRowSum *sum;
};

/* False: the rows are too long or too many, or their blocks are too far apart. */
bool cpu_fold_rows_make(const CpuFold *fold, CpuLevel level, CpuFoldRows *out);
/* y = first + the terms [kernel, blocks] at their places. CPU_FOLD_SLACK floats behind the terms
 * can be read. */
void cpu_fold_rows_run(const CpuFoldRows *rows, const float *terms, float first, float *y);
