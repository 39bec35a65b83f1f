#pragma once
/* The last two dimensions of a window, row by row, with the padding written out, so that vectors of
 * outputs read without checking where the image ends. Called by cpu_conv_depthwise.c and the pools,
 * on the threads of a launch. Pure: no state. */
#include "kernels/cpu/core/cpu_vector.h"
#include "kernels/arguments/window.h"

enum {
    CPU_PLANE_TAPS_MAX = 128,   /* kernel positions */
    CPU_PLANE_BAND_MAX = 12288, /* floats of input rows on the stack: 48 KiB */
    CPU_PLANE_WIDTH_MAX = 2048, /* outputs of a row, which are also kept on the stack */
};

/* The cut of a plane into bands; a single dimension has one row. */
typedef struct CpuPlane {
    int64_t rows, width, input_rows, input_width;
    int64_t row_stride, stride, row_pad, pad;
    int64_t kernel_rows, kernel_width, row_dilation, dilation;
    int64_t pitch;     /* floats of a padded row, as whole vectors of outputs read */
    int64_t band_rows; /* output rows of a band */
    int64_t bands;
    int64_t tap_count;
    int64_t
        taps[CPU_PLANE_TAPS_MAX]; /* from output 0's corner in the band, in the kernel's order */
} CpuPlane;

/* False if a band of a single row would be too large, or there is nothing to compute. */
bool cpu_plane_of(const Window *window, CpuPlane *out);
/* Input rows that `rows` output rows read. */
int64_t cpu_plane_rows_read(const CpuPlane *plane, int64_t rows);
/* Copies the part of image x that the output rows from `first` on read, with `fill` around it, to
 * CPU_PLANE_BAND_MAX floats. */
void cpu_plane_fill(
    const CpuPlane *plane, const float *x, int64_t first, int64_t rows, float fill, float *band);

/* x[0], x[2] … x[30], by two loads of which the second ends with the last needed float. */
CPU_INLINE CpuF32x16 cpu_plane_even_lanes(const float *x) {
    return __builtin_shufflevector(cpu_f32x16_load(x), cpu_f32x16_load(x + 15), 0, 2, 4, 6, 8, 10,
        12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
}
