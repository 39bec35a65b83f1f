#pragma once
/* Convolution with a group for each channel in float32 over images [N, H, W, C] and volumes [N, D,
 * H, W, C], by vectors of channels. Called by cpu_conv_images.c when it plans and launches.
 *
 * Every sum is one chain of products in the order kernel slice, kernel row, kernel column,
 * started from zero, without fused multiply-adds and without the positions outside the image: the
 * same bits at every instruction set. */
#include "kernels/cpu/conv/cpu_conv_last.h"

typedef struct CpuConvLastDepthwise CpuConvLastDepthwise;
/* Positions of the kernel. */
typedef struct CpuDepthwisePositions {
    int64_t slices, rows, columns;
} CpuDepthwisePositions;

/* Adds the products of so many channels for `pixels` outputs that follow each other in a row, with
 * the positions of the kernel that lie in the image for all of them. */
typedef void CpuDepthwisePixels(const CpuConvLastDepthwise *conv, const float *x, const float *w,
    const CpuDepthwisePositions *inside, int64_t pixels, int64_t channels, float *y);

struct CpuConvLastDepthwise {
    Window window; /* of two dimensions */
    CpuConvSlices slices;
    int64_t images, channels; /* images: slices of the outputs, of all volumes */
    bool has_bias, has_residual;
    CpuEpilogue epilogue;
    /* The members below are set by cpu_conv_last_depthwise_prepare. */
    CpuEpilogueRowsRun *epilogue_rows;
    CpuDepthwisePixels *pixels;
    int64_t first_whole, end_whole; /* columns of outputs whose windows are inside the rows */
};

/* Floats of packed weights: [(kernel slices,) kernel height, kernel width, C]. */
int64_t cpu_conv_last_depthwise_packed_count(const Shape *weights);
/* weights [C, 1, (kernel slices,) kernel height, kernel width] */
void cpu_conv_last_depthwise_pack(const float *weights, const Shape *shape, float *packed);

void cpu_conv_last_depthwise_prepare(CpuConvLastDepthwise *conv, CpuLevel level);
/* y is none of the operands. */
MUST_CHECK Error *cpu_conv_last_depthwise_run(CpuDevice *device, const CpuConvLastDepthwise *conv,
    const CpuConvLastBuffers *buffers, const Launch *launch);
