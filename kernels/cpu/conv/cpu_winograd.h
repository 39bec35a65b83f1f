#pragma once
/* Convolution of 3 x 3, step 1, in float32 over images [N, H, W, C], or of any x 3 x 3 over volumes
 * [N, D, H, W, C], whose slices are transformed as images and added in the products, after
 * Winograd: F(4 x 4, 3 x 3) of Lavin and Gray, "Fast algorithms for convolutional neural networks"
 * (2015). Tiles of 6 x 6 pixels are transformed, multiplied with transformed weights, position by
 * position, and transformed back to 4 x 4 outputs: 36 products instead of 144. Sums differ from the
 * direct ones by some units in the sixth digit of the largest term in the tile. So a pixel that is
 * ten thousand times its neighbours costs these four digits, and an infinite pixel or NaN makes all
 * outputs of its tiles NaN. Called by cpu_conv_images.c.
 *
 * The bits depend neither on the threads nor on how tiles are grouped. */
#include "kernels/cpu/conv/cpu_conv_last.h"

typedef struct CpuWinograd {
    Window window;
    CpuConvSlices slices;
    int64_t images, channels, filters; /* images: slices of the outputs, of all volumes */
    bool has_bias, has_residual;
    CpuEpilogue epilogue;
    /* The members below are set by cpu_winograd_prepare. */
    int64_t depth; /* of the products: kernel slices × channels */
    CpuMatmulCode code;
    CpuEpilogueRowsRun *epilogue_rows;
    int64_t tile_rows, tile_columns, tiles; /* of an image; of all */
    int64_t group;            /* tiles that are transformed before they are multiplied */
    int64_t filters_per_unit; /* a panel or a part of one */
    void (*enter)(const float *const *pixels, int64_t channels, int64_t step, float *to);
    void (*leave)(const float *sums, int64_t step, int64_t filters, float *to);
} CpuWinograd;

/* Whether weights [filters, C, 3, 3] or [filters, C, kernel slices, 3, 3] may be packed for this
 * kernel: a function of the operator's attributes and the weights, not of the image. */
bool cpu_winograd_takes(const CpuRules *rules, const Attributes *attributes, const Shape *weights);
int64_t cpu_winograd_packed_count(const Shape *weights);
void cpu_winograd_pack(CpuLevel level, const float *weights, const Shape *shape, float *packed);

void cpu_winograd_prepare(CpuWinograd *conv, CpuLevel level);
/* Floats of scratch for a launch on as many threads as the device has. */
int64_t cpu_winograd_scratch_count(const CpuDevice *device, const CpuWinograd *conv);
MUST_CHECK Error *cpu_winograd_run(CpuDevice *device, const CpuWinograd *conv,
    const CpuConvLastBuffers *buffers, const Launch *launch);
