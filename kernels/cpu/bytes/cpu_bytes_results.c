#include "kernels/cpu/bytes/cpu_bytes_results.h"

#include <string.h>

/* Writes results whose filters are planes apart. size: bytes of one. */
static void write_planes(
    const CpuBytesResults *results, const CpuBytesBlock *block, const char *from, int64_t size) {
    const int64_t first =
        block->image * results->filters + block->group * results->columns + block->filter;
    for (int64_t f = 0; f < block->filters; f++)
        for (int64_t row = 0; row < block->rows; row++) {
            const int64_t line = (first + f) * results->height + block->row + row;
            char *to = results->y + (line * results->width + block->pixel) * size;
            const char *at = from + (row * block->pixels * CPU_LOWER_COLUMNS + f) * size;
            for (int64_t i = 0; i < block->pixels; i++, at += CPU_LOWER_COLUMNS * size) {
                if (size == 1)
                    to[i] = *at;
                else
                    memcpy(to + i * size, at, sizeof(int32_t));
            }
        }
}

void cpu_bytes_finish(
    const CpuBytesResults *results, const CpuBytesBlock *block, const int32_t *sums) {
    const int64_t first = block->group * results->columns + block->filter;
    const int64_t size = results->quantizes ? 1 : (int64_t)sizeof(int32_t);
    uint8_t bytes[CPU_BYTES_SUMS];
    if (!results->quantizes && results->to_planes) {
        write_planes(results, block, (const char *)sums, size);
        return;
    }
    for (int64_t i = 0; i < block->rows * block->pixels; i++) {
        const int64_t row = block->row + i / block->pixels;
        const int64_t pixel = block->pixel + i % block->pixels;
        const int64_t at = (block->image * results->height + row) * results->width + pixel;
        const int32_t *from = sums + i * CPU_LOWER_COLUMNS;
        char *to = results->y + (at * results->filters + first) * size;
        if (results->to_planes) to = (char *)bytes + i * CPU_LOWER_COLUMNS;
        if (results->quantizes)
            results->requantize(&results->to, from, results->bias + first, results->factors + first,
                block->filters, (uint8_t *)to);
        else
            memcpy(to, from, (size_t)(block->filters * size));
    }
    if (results->to_planes) write_planes(results, block, (const char *)bytes, size);
}
