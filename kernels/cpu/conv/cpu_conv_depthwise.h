#pragma once
/* Convolution over one or two dimensions whose groups have one input channel: bands of padded input
 * rows on the stack, of which each output row is a weighted sum. No fused multiply-add, so the bits
 * are the same at every instruction set. */
#include "kernels/cpu/conv/cpu_conv_kernel.h"

/* Whether the kernel takes this convolution, a function of its shapes alone. */
bool cpu_conv_is_depthwise(const CpuConv *conv);
MUST_CHECK Error *cpu_conv_depthwise_run(
    CpuDevice *device, const CpuConv *conv, const CpuConvBuffers *buffers, const Launch *launch);
