#pragma once
/* Shapes reduced for a loop nest: neighbouring dimensions that every operand passes in one stride
 * become one. Called by cpu_pointwise.c and cuda_pointwise.c when they plan. Pure: no state. */
#include "kernels/tensor/shape.h"

enum { CPU_BROADCAST_OPERANDS_MAX = 256 };

typedef struct CpuBroadcast {
    uint32_t rank;                /* 1 at least */
    int64_t dims[SHAPE_RANK_MAX]; /* none is 1 unless rank is 1 */
    int64_t count;                /* the product of the dims */
} CpuBroadcast;

/* strides: operand_count rows of SHAPE_RANK_MAX strides in elements (0: repeated), rewritten to
 * those of the collapsed dimensions. */
void cpu_broadcast_collapse(const Shape *shape, uint32_t operand_count,
    int64_t (*strides)[SHAPE_RANK_MAX], CpuBroadcast *out);
