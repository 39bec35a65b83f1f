#pragma once
/* Copies a part of an image [H, W, C] with the zeros around the image, so that padded windows are
 * rows of a matrix. Called by cpu_conv_last.c. Pure: no state. */
#include <stdint.h>

typedef struct CpuConvBand {
    const float *image;      /* the first of the channels that are copied */
    int64_t height, width;   /* of the image */
    int64_t channels, pixel; /* floats that are copied of each pixel; floats from pixel to pixel */
    int64_t row, rows, column, columns; /* of the band; may begin before the image */
} CpuConvBand;

/* to [rows, columns, channels] */
void cpu_conv_band_copy(const CpuConvBand *band, float *to);
