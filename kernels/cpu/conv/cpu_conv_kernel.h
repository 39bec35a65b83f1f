#pragma once
/* Convolution in float32 as a matrix product: weights [M, C k] times the windows [C k, pixels],
 * which are gathered block by block on the stack. activation(conv + bias + residual). Called by
 * cpu_conv.c when it plans and launches. Pure: a CpuConv belongs to its plan.
 *
 * The bits are those of cpu_matmul_kernel.h: one chain per output in the order channel, kernel
 * position. */
#include "kernels/cpu/conv/cpu_conv_gather.h"
#include "kernels/cpu/matmul/cpu_matmul_kernel.h"
#include "kernels/arguments/window.h"

typedef struct CpuConv {
    Window window;
    int64_t input_count, output_count, kernel_count; /* elements of one channel */
    int64_t batch, groups;
    int64_t channels, filters; /* of one group: C / group, M / group */
    bool has_bias, has_residual;
    CpuEpilogue epilogue;
    int64_t filters_per_unit;
    CpuMatmulMicro *micro;
    CpuGatherRows *gather;
    CpuEpilogueRow *epilogue_row;
} CpuConv;

typedef struct CpuConvBuffers {
    const float *x, *w, *bias, *residual;
    float *y;
} CpuConvBuffers;

/* Chooses the code and the cut into units; called when all other members are set. */
void cpu_conv_prepare(CpuConv *conv, CpuLevel level);
MUST_CHECK Error *cpu_conv_run(
    CpuDevice *device, const CpuConv *conv, const CpuConvBuffers *buffers, const Launch *launch);
