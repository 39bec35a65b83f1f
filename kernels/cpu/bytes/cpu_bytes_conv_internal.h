#pragma once
/* What the files of convolutions of bytes share: a plan's state, a launch, and the sums of a block.
 * Called by cpu_bytes_conv.c on the threads of a launch. Pure: no state. */
#include "kernels/cpu/bytes/cpu_bytes_depthwise.h"
#include "kernels/cpu/bytes/cpu_bytes_filters.h"
#include "kernels/cpu/bytes/cpu_bytes_images.h"
#include "kernels/cpu/bytes/cpu_bytes_results.h"

enum { CPU_BYTES_HEIGHT = 0, CPU_BYTES_WIDTH = 1 }; /* the dimensions of windows */

/* The state of a plan. */
typedef struct CpuBytesConv {
    CpuLevel level;
    CpuBytesFilters filters;
    CpuBytesImages images;
    Window window;                     /* of two dimensions */
    int64_t columns;                   /* filters of a group; depthwise: the channels */
    int64_t rows, pixels;              /* outputs of a block */
    int64_t row_blocks, column_blocks; /* of an image */
    CpuLowerProduct *product;
    CpuBytesDepthwiseSum *depthwise;
    CpuBytesWindowsSum *sum_windows;
    CpuBytesZerosSubtract *subtract;
    CpuRequantizeRowsRun *requantize;
    bool is_winograd;
    uint32_t w_index; /* of the input; the weights' zero point is input w_zero */
    uint32_t w_zero;
    bool quantizes, is_packed, has_x_zero, has_w_zero, has_bias;
    bool w_scales_apart, w_zeros_apart; /* each filter has its own */
    bool to_planes, to_signed;
    /* in the workspace */
    uint64_t bias_offset, factors_offset, w_zeros_offset, taps_offset, ones_offset, panels_offset,
        scratch_offset;
} CpuBytesConv;

/* A launch. */
typedef struct CpuBytesRun {
    const CpuBytesConv *state;
    const char *images, *panels;
    bool has_zeros;   /* some of the weights' zero points are not 0 */
    const char *ones; /* weights that sum windows; NULL: sum_windows() does it */
    const int32_t *w_zeros;
    const int64_t *taps;
    int32_t zero;
    CpuBytesResults results;
    char *scratch; /* of Winograd's method, for each part */
} CpuBytesRun;

/* The window of a block's first output. */
const char *cpu_bytes_first_window(const CpuBytesRun *run, const CpuBytesBlock *block);
/* Writes sums[rows * pixels][CPU_LOWER_COLUMNS], directly. Returns early when the kernel is
 * stopped: see kernel_stop.h. */
void cpu_bytes_sum_block(const CpuBytesRun *run, const CpuBytesBlock *block, int32_t *sums);
/* Subtracts the weights' zero points times the sums of the windows. */
void cpu_bytes_subtract_zeros(const CpuBytesRun *run, const CpuBytesBlock *block, int32_t *sums);
