#pragma once
/* The first of three dimensions of a window over volumes [N, D, H, W, C]. Each slice of the outputs
 * is an image of two dimensions, whose sums are added over the slices of the input that the kernel
 * sees there. An image of two dimensions is one slice. Read by the convolutions with channels last.
 * Pure: no state. */
#include "kernels/arguments/window.h"

typedef struct CpuConvSlices {
    int64_t input, output; /* slices of a volume */
    int64_t kernel, stride, dilation, pad;
} CpuConvSlices;

/* The kernel's positions that see a slice of the input. */
typedef struct CpuSlicesInside {
    int64_t begin, end;
    int64_t first, step; /* position i sees slice first + i × step, counted over all volumes */
} CpuSlicesInside;

/* Takes the first of three dimensions off the window. One of two dimensions stays as it is. */
CpuConvSlices cpu_conv_slices_cut(Window *window);
/* output: a slice of the outputs, counted over all volumes. */
CpuSlicesInside cpu_conv_slices_inside(const CpuConvSlices *slices, int64_t output);
