#pragma once
/* The sliding window of convolutions and pools: sizes, steps and padding of each spatial dimension,
 * read from checked attributes and inferred shapes. */
#include "kernels/cpu/cpu_internal.h"

enum { CPU_WINDOW_RANK_MAX = SHAPE_RANK_MAX - 2 };

typedef struct CpuWindow {
    uint32_t rank; /* spatial dimensions; 1 … CPU_WINDOW_RANK_MAX */
    int64_t input[CPU_WINDOW_RANK_MAX];
    int64_t output[CPU_WINDOW_RANK_MAX];
    int64_t kernel[CPU_WINDOW_RANK_MAX];
    int64_t stride[CPU_WINDOW_RANK_MAX];
    int64_t dilation[CPU_WINDOW_RANK_MAX];
    int64_t pad_begin[CPU_WINDOW_RANK_MAX];
    int64_t pad_end[CPU_WINDOW_RANK_MAX];            /* as given, or as auto_pad means */
    int64_t input_count, output_count, kernel_count; /* products */
} CpuWindow;

/* input [N, C, …], output [N, M, …]; kernel: `rank` sizes. auto_pad, dilations, pads and strides
 * come from the attributes. transposed: ConvTranspose, where the output is the padded side. */
MUST_CHECK Error *cpu_window_of(const Attributes *attributes, const Shape *input,
    const Shape *output, const int64_t *kernel, bool transposed, CpuWindow *out);
/* One element per step, nothing padded, kernel of size 1: output position = input position. */
bool cpu_window_is_pointwise(const CpuWindow *window);
