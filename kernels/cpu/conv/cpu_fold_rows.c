#include "kernels/cpu/conv/cpu_fold_rows.h"

#include <string.h>

#include "kernels/cpu/core/cpu_vector.h"

enum {
    PHASE_LENGTH = CPU_FOLD_WIDTH_MAX + CPU_VECTOR_LANES,
    /* Every row of the image asks every position of the kernel for its row of blocks: with few
     * blocks and a large kernel most have none. */
    ROWS_PER_BLOCK_ROW = 16,
};

/* Finds the row of blocks that position `k` of the outer dimensions adds to the image's row. */
static bool find_row(const CpuFold *fold, const int64_t *at, int64_t k, int64_t *out_row) {
    int64_t row = 0, step = 1;
    for (uint32_t i = fold->rank - 1; i-- > 0; k /= fold->kernel[i]) {
        const int64_t place = at[i] + fold->pad[i] - k % fold->kernel[i] * fold->dilation[i];
        if (place < 0 || place % fold->stride[i] != 0) return false;
        if (place / fold->stride[i] >= fold->blocks[i]) return false;
        row += place / fold->stride[i] * step;
        step *= fold->blocks[i];
    }
    *out_row = row;
    return true;
}

/* All ones, then zeros: lanes of a mask are read from where the ones left are as many as wanted. */
static const int32_t ones_and_zeros[2 * CPU_VECTOR_LANES] = {
    -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};

CPU_INLINE CpuI32x16 first_lanes(int64_t count) {
    const int64_t ones = count < CPU_VECTOR_LANES ? count : CPU_VECTOR_LANES;
    CpuI32x16 mask;
    memcpy(&mask, ones_and_zeros + CPU_VECTOR_LANES - ones, sizeof mask);
    return mask;
}

/* Reads whole vectors of both: memory follows the terms and the phases. */
CPU_INLINE void add_terms(const float *from, int64_t count, float *to) {
    for (int64_t i = 0; i < count; i += CPU_VECTOR_LANES) {
        const CpuF32x16 before = cpu_f32x16_load(to + i);
        const CpuF32x16 sum = before + cpu_f32x16_load(from + i);
        cpu_f32x16_store(to + i, cpu_f32x16_select(first_lanes(count - i), sum, before));
    }
}

/* Writes elements of two phases by turns. */
CPU_INLINE void interleave(const float *even, const float *odd, int64_t width, float *y) {
    float row[CPU_FOLD_WIDTH_MAX + 2 * CPU_VECTOR_LANES];
    for (int64_t i = 0; 2 * i < width; i += CPU_VECTOR_LANES) {
        const CpuF32x16 a = cpu_f32x16_load(even + i), b = cpu_f32x16_load(odd + i);
        cpu_f32x16_store(row + 2 * i,
            __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23));
        cpu_f32x16_store(
            row + 2 * i + CPU_VECTOR_LANES, __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11,
                                                27, 12, 28, 13, 29, 14, 30, 15, 31));
    }
    memcpy(y, row, (size_t)width * sizeof *y);
}

CPU_INLINE void sum_row_body(
    const CpuFoldRows *rows, const float *terms, const int64_t *at, float first, float *y) {
    const CpuFold *fold = &rows->fold;
    const uint32_t last = fold->rank - 1;
    const int64_t stride = fold->stride[last], width = fold->image[last];
    const int64_t length = (width + stride - 1) / stride;
    float phases[CPU_FOLD_STRIDE_MAX][PHASE_LENGTH];
    for (int64_t p = 0; p < stride; p++)
        for (int64_t i = 0; i < length; i += CPU_VECTOR_LANES)
            cpu_f32x16_store(phases[p] + i, first - (CpuF32x16){0});
    const uint64_t work = (uint64_t)(fold->kernel[last] * (2 + length / CPU_VECTOR_LANES));
    KernelStopMeter meter = {0};
    for (int64_t k = 0; k < rows->outer; k++) {
        int64_t row;
        if (kernel_stop_ends_after(&meter, work)) return; /* the caller looks again */
        if (!find_row(fold, at, k, &row)) continue;
        const float *from =
            terms + k * fold->kernel[last] * rows->block_count + row * fold->blocks[last];
        for (int64_t j = 0; j < fold->kernel[last]; j++, from += rows->block_count) {
            const CpuFoldColumn *column = &rows->columns[j];
            add_terms(from + column->begin, column->end - column->begin,
                phases[column->phase] + column->begin + column->skip);
        }
    }
    if (stride == 1)
        memcpy(y, phases[0], (size_t)width * sizeof *y);
    else if (stride == 2)
        interleave(phases[0], phases[1], width, y);
    else
        for (int64_t i = 0; i < width; i++) y[i] = phases[i % stride][i / stride];
}
CPU_VARIANTS(sum_row,
    (const CpuFoldRows *rows, const float *terms, const int64_t *at, float first, float *y),
    (rows, terms, at, first, y));

static int64_t divide_up(int64_t a, int64_t b) { return a > 0 ? (a + b - 1) / b : 0; }

static CpuFoldColumn column_of(const CpuFold *fold, int64_t position) {
    const uint32_t last = fold->rank - 1;
    const int64_t stride = fold->stride[last], width = fold->image[last];
    const int64_t shift = position * fold->dilation[last] - fold->pad[last];
    CpuFoldColumn column = {.phase = (shift % stride + stride) % stride};
    column.skip = (shift - column.phase) / stride;
    column.begin = column.skip < 0 ? -column.skip : 0;
    column.end = divide_up(width - column.phase, stride) - column.skip;
    if (column.end > fold->blocks[last]) column.end = fold->blocks[last];
    if (column.end < column.begin) column.end = column.begin = 0;
    return column;
}

bool cpu_fold_rows_make(const CpuFold *fold, CpuLevel level, CpuFoldRows *out) {
    const uint32_t last = fold->rank - 1;
    if (fold->kernel[last] > CPU_FOLD_COLUMNS_MAX || fold->stride[last] > CPU_FOLD_STRIDE_MAX ||
        fold->image[last] > CPU_FOLD_WIDTH_MAX)
        return false;
    CpuFoldRows rows = {.fold = *fold,
        .outer = 1,
        .row_count = 1,
        .block_count = fold->blocks[last],
        .sum = sum_row_for(level)};
    for (uint32_t i = 0; i < last; i++) {
        rows.outer *= fold->kernel[i];
        rows.row_count *= fold->image[i];
        rows.block_count *= fold->blocks[i];
    }
    const int64_t block_rows = fold->blocks[last] > 0 ? rows.block_count / fold->blocks[last] : 0;
    if (rows.row_count / ROWS_PER_BLOCK_ROW > block_rows) return false;
    for (int64_t i = 0; i < fold->kernel[last]; i++) rows.columns[i] = column_of(fold, i);
    *out = rows;
    return true;
}

void cpu_fold_rows_run(const CpuFoldRows *rows, const float *terms, float first, float *y) {
    const uint32_t last = rows->fold.rank - 1;
    const int64_t width = rows->fold.image[last];
    int64_t at[WINDOW_RANK_MAX] = {0};
    KernelStopMeter meter = {0};
    for (int64_t row = 0; row < rows->row_count; row++, y += width) {
        const uint64_t work = (uint64_t)(rows->outer + 1) * 8 * (uint64_t)(width + 32);
        if (kernel_stop_ends_after(&meter, work)) return;
        rows->sum(rows, terms, at, first, y);
        for (uint32_t i = last; i-- > 0 && ++at[i] == rows->fold.image[i];) at[i] = 0;
    }
}
