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

/* The rows' sums as they are. */
static void copy_sums(const CpuRequantizeRows *rows) {
    for (int64_t i = 0; i < rows->rows; i++)
        memcpy(rows->out + i * rows->out_step * (int64_t)sizeof(int32_t),
            rows->sums + i * rows->sums_step, (size_t)rows->count * sizeof(int32_t));
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
    CpuRequantizeRows rows = {
        .to = results->to,
        .rows = block->pixels,
        .count = block->filters,
        .sums_step = CPU_LOWER_COLUMNS,
        .bias = results->bias ? results->bias + first : NULL,
        .factors = results->factors ? results->factors + first : NULL,
        .out_step = results->to_planes ? CPU_LOWER_COLUMNS : results->filters,
    };
    for (int64_t i = 0; i < block->rows; i++) {
        const int64_t row = block->image * results->height + block->row + i;
        const int64_t at = row * results->width + block->pixel;
        char *to = results->y + (at * results->filters + first) * size;
        rows.sums = sums + i * block->pixels * CPU_LOWER_COLUMNS;
        rows.out = (uint8_t *)to;
        if (results->to_planes) rows.out = bytes + i * block->pixels * CPU_LOWER_COLUMNS;
        if (results->quantizes)
            results->requantize(&rows);
        else
            copy_sums(&rows);
    }
    if (results->to_planes) write_planes(results, block, (const char *)bytes, size);
}
