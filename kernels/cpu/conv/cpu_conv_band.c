#include "kernels/cpu/conv/cpu_conv_band.h"

#include <stdbool.h>
#include <string.h>

/* The channels of pixels side by side. Few are copied in less time than a call takes. */
static void copy_pixels(
    const CpuConvBand *band, const float *from, int64_t count, float *restrict to) {
    const int64_t channels = band->channels, step = band->pixel;
    if (step == channels) {
        memcpy(to, from, (size_t)(count * channels) * sizeof(float));
        return;
    }
    switch (channels) {
#define COPY_FEW(CHANNELS)                                                                         \
    case CHANNELS:                                                                                 \
        for (int64_t i = 0; i < count; i++)                                                        \
            memcpy(to + i * (CHANNELS), from + i * step, (CHANNELS) * sizeof(float));              \
        break
        COPY_FEW(4);
        COPY_FEW(8);
        COPY_FEW(16);
        COPY_FEW(24);
        COPY_FEW(32);
    default:
        for (int64_t i = 0; i < count; i++)
            memcpy(to + i * channels, from + i * step, (size_t)channels * sizeof(float));
    }
}

/* A row of the band, zeros where there is no image. */
static void copy_row(const CpuConvBand *band, int64_t row, float *to) {
    const int64_t channels = band->channels, column = band->column, count = band->columns;
    int64_t begin = column < 0 ? -column : 0, end = band->width - column;
    if (begin > count) begin = count;
    if (end > count) end = count;
    if (end < begin || row < 0 || row >= band->height) begin = end = count;
    memset(to, 0, (size_t)(begin * channels) * sizeof(float));
    if (end > begin)
        copy_pixels(band, band->image + (row * band->width + column + begin) * band->pixel,
            end - begin, to + begin * channels);
    memset(to + end * channels, 0, (size_t)((count - end) * channels) * sizeof(float));
}

void cpu_conv_band_copy(const CpuConvBand *band, float *to) {
    for (int64_t i = 0; i < band->rows; i++)
        copy_row(band, band->row + i, to + i * band->columns * band->channels);
}
