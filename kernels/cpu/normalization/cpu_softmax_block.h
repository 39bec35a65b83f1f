#pragma once
/* Softmax and LogSoftmax of a block: one row, up to 16 short rows, or up to 16 columns that stand
 * beside each other. Called by cpu_softmax.c on the threads of a launch. Pure: no state.
 *
 * The bits are the same at every instruction set: a row's terms are added in 16 lanes that are
 * folded at the end, and a column's one after the other. Short rows are added in the order of the
 * lanes of one row. */
#include <stdbool.h>
#include <stdint.h>

#include "kernels/cpu/core/cpu_level.h"

typedef enum CpuSoftmaxForm {
    CPU_SOFTMAX_ROW,        /* [size]; columns and inner are unused */
    CPU_SOFTMAX_SHORT_ROWS, /* [columns][size], size below 16; inner is unused */
    CPU_SOFTMAX_COLUMNS,    /* [size][inner], of which the first columns */
} CpuSoftmaxForm;

/* x, y: f32, y may be x. columns: 1 … 16. May return early when kernel_stop_ends says so. */
typedef void CpuSoftmaxBlock(
    const float *x, int64_t size, int64_t inner, int64_t columns, float *y);

CpuSoftmaxBlock *cpu_softmax_block_for(CpuLevel level, CpuSoftmaxForm form, bool logarithm);
