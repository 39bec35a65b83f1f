#pragma once
/* Convolution over one or two dimensions whose groups have one input channel: bands of padded input
 * rows on the stack; each output row is a weighted sum of them. No fused multiply-add, so the bits
 * are the same at every instruction set. Called by cpu_conv.c, on the threads of a launch. */
#include "kernels/cpu/conv/cpu_conv_kernel.h"

/* Whether this kernel takes the convolution: a function of its shapes alone. */
bool cpu_conv_is_depthwise(const CpuConv *conv);
MUST_CHECK Error *cpu_conv_depthwise_run(
    CpuDevice *device, const CpuConv *conv, const CpuConvBuffers *buffers, const Launch *launch);
