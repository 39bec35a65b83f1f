#pragma once
/* The images of convolutions of bytes in the form of their kernels: [H, W, C] with the padding of
 * the windows, as bytes without a sign or as int16 less the zero point. Called by cpu_bytes_conv.c
 * when it plans and launches. Pure: no state. */
#include "kernels/arguments/window.h"
#include "kernels/cpu/quantized/cpu_lower_product.h"

typedef struct CpuBytesImages {
    CpuLowerForm form;
    bool is_signed;  /* the input's bytes */
    bool in_place;   /* the input has the form already */
    bool are_planes; /* the input is [C, H, W] */
    int64_t images, channels;
    int64_t height, width; /* of the input */
    int64_t pad_top, pad_left;
    int64_t padded_height, padded_width;
    int64_t piece; /* columns that are written at a time */
} CpuBytesImages;

static inline int64_t cpu_bytes_pixel(const CpuBytesImages *images) {
    return images->channels * cpu_lower_forms[images->form].row_size;
}
static inline int64_t cpu_bytes_pitch(const CpuBytesImages *images) {
    return images->padded_width * cpu_bytes_pixel(images);
}

/* A window over one dimension becomes one over two, and a kernel of one element that reads every
 * element sees an image as one row. */
void cpu_bytes_flatten(Window *window);
/* window: of two dimensions. spare_bytes: how far behind an image's end the kernels read. */
void cpu_bytes_images_of(const Window *window, int64_t spare_bytes, CpuBytesImages *inout_images);
/* Makes padded images at least so high and wide. */
void cpu_bytes_images_extend(CpuBytesImages *inout_images, int64_t height, int64_t width);
/* Bytes of all images. Errors: INVALID too large. */
MUST_CHECK Error *cpu_bytes_images_bytes(
    const CpuBytesImages *images, int64_t spare_bytes, uint64_t *out);
/* How much the elements in the form are too large, of an input with this zero point. */
int32_t cpu_bytes_zero(const CpuBytesImages *images, int32_t zero_point);
MUST_CHECK Error *cpu_bytes_write_images(CpuDevice *device, uint32_t threads,
    const CpuBytesImages *images, const void *x, int32_t zero_point, void *to);

/* ---- the sums of windows, which the filters' zero points are multiplied by ---- */

/* Windows of a block of outputs. Each is `lines` rows of `pieces` pieces, and a piece is so many
 * int16, less the zero point, that lie together. Steps in bytes. */
typedef struct CpuBytesWindows {
    int64_t rows, columns; /* of windows */
    int64_t down, right;   /* from window to window */
    int64_t lines, pieces, piece;
    int64_t line_step, piece_step;
    const char *first;
} CpuBytesWindows;

/* out[rows * columns], modulo 2^32. */
typedef void CpuBytesWindowsSum(const CpuBytesWindows *windows, int32_t *out);
CpuBytesWindowsSum *cpu_bytes_windows_for(CpuLevel level);

/* sums[i][f] -= zeros[f] * windows[i * step], modulo 2^32, for `count` rows of sums and `filters`
 * of their CPU_LOWER_COLUMNS columns. each_filter: windows[i * step + f], since each filter has a
 * channel of its own. */
typedef struct CpuBytesZeros {
    int64_t count, filters, step;
    bool each_filter;
    const int32_t *windows, *zeros;
} CpuBytesZeros;

typedef void CpuBytesZerosSubtract(const CpuBytesZeros *subtracted, int32_t *sums);
CpuBytesZerosSubtract *cpu_bytes_zeros_for(CpuLevel level);
