/* The blocks of Softmax. Each is written with sixteen lanes, for AVX-512, and in halves: at the
 * other levels compilers compare the lanes of a vector that is wider than a register one by one. */
#include "kernels/cpu/normalization/cpu_softmax_block.h"

#include "kernels/cpu/core/cpu_vector.h"
#include "kernels/scalar/scalar_exponential.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define MINUS_INFINITY (-__builtin_inff())

/* ---- rows: the axis is the last one ---- */

CPU_INLINE float row_max(const float *x, int64_t size) {
    CpuF32x16 most = cpu_f32x16_all(MINUS_INFINITY);
    const int64_t whole = size / CPU_VECTOR_LANES * CPU_VECTOR_LANES;
    KERNEL_STOP_EVERY (i, 0, whole, CPU_VECTOR_LANES)
        most = cpu_f32x16_max(cpu_f32x16_load(x + i), most);
    if (whole < size)
        most = cpu_f32x16_max(cpu_f32x16_load_part(x + whole, size - whole, MINUS_INFINITY), most);
    return cpu_f32x16_largest(most);
}

/* Adds up e^(x - shift), and writes the terms to y unless y is NULL. */
CPU_INLINE float row_exp_sum(const float *x, int64_t size, float shift, float *y) {
    CpuF32x16 sum = {0};
    const int64_t whole = size / CPU_VECTOR_LANES * CPU_VECTOR_LANES;
    KERNEL_STOP_EVERY (i, 0, whole, CPU_VECTOR_LANES) {
        CpuF32x16 term = cpu_f32x16_exp(cpu_f32x16_load(x + i) - shift);
        if (y) cpu_f32x16_store(y + i, term);
        sum += term;
    }
    if (whole < size) {
        CpuF32x16 term =
            cpu_f32x16_exp(cpu_f32x16_load_part(x + whole, size - whole, MINUS_INFINITY) - shift);
        if (y) cpu_f32x16_store_part(y + whole, size - whole, term);
        sum += term;
    }
    return cpu_f32x16_sum(sum);
}

CPU_INLINE void softmax_rows_body(
    const float *x, int64_t size, int64_t inner, int64_t columns, float *y) {
    (void)inner, (void)columns;
    const float sum = row_exp_sum(x, size, row_max(x, size), y);
    const float scale = 1.0f / sum;
    const int64_t whole = size / CPU_VECTOR_LANES * CPU_VECTOR_LANES;
    KERNEL_STOP_EVERY (i, 0, whole, CPU_VECTOR_LANES)
        cpu_f32x16_store(y + i, cpu_f32x16_load(y + i) * scale);
    for (int64_t i = whole; i < size; i++) y[i] *= scale;
}

#if defined(__x86_64__)
/* Takes the vector by address: how a vector is passed by value depends on the caller's
 * instruction set. */
CPU_INLINE void take_exp(CpuF32x16 *x) { *x = cpu_f32x16_exp(*x); }

/* softmax_rows_body with masks for the last lanes, which load_part would move through memory. */
CPU_TARGET_AVX512 static void softmax_rows_masked(
    const float *x, int64_t size, int64_t inner, int64_t columns, float *y) {
    (void)inner, (void)columns;
    const int64_t whole = size / CPU_VECTOR_LANES * CPU_VECTOR_LANES;
    const __mmask16 left = (__mmask16)((1u << (size - whole)) - 1);
    const __m512 least = _mm512_set1_ps(MINUS_INFINITY);
    const __m512 last = _mm512_mask_loadu_ps(least, left, x + whole);
    __m512 most = least;
    CpuF32x16 sum = {0};
    KERNEL_STOP_EVERY (i, 0, whole, CPU_VECTOR_LANES)
        most = _mm512_max_ps(_mm512_loadu_ps(x + i), most);
    most = _mm512_max_ps(last, most);
    const __m512 shift = _mm512_set1_ps(_mm512_reduce_max_ps(most));
    KERNEL_STOP_EVERY (i, 0, whole, CPU_VECTOR_LANES) {
        CpuF32x16 term = (CpuF32x16)_mm512_sub_ps(_mm512_loadu_ps(x + i), shift);
        take_exp(&term);
        _mm512_storeu_ps(y + i, (__m512)term);
        sum += term;
    }
    CpuF32x16 end = (CpuF32x16)_mm512_sub_ps(last, shift);
    take_exp(&end);
    if (left) sum += end;
    float lanes[CPU_VECTOR_LANES];
    _mm512_storeu_ps(lanes, (__m512)sum);
    const __m512 scale = _mm512_set1_ps(1.0f / cpu_lanes_sum(lanes));
    KERNEL_STOP_EVERY (i, 0, whole, CPU_VECTOR_LANES)
        _mm512_storeu_ps(y + i, _mm512_mul_ps(_mm512_loadu_ps(y + i), scale));
    _mm512_mask_storeu_ps(y + whole, left, _mm512_mul_ps((__m512)end, scale));
}
#endif

CPU_INLINE void log_softmax_rows_body(
    const float *x, int64_t size, int64_t inner, int64_t columns, float *y) {
    (void)inner, (void)columns;
    const float most = row_max(x, size);
    const float log_sum = scalar_log_f32(row_exp_sum(x, size, most, NULL));
    const int64_t whole = size / CPU_VECTOR_LANES * CPU_VECTOR_LANES;
    KERNEL_STOP_EVERY (i, 0, whole, CPU_VECTOR_LANES)
        cpu_f32x16_store(y + i, cpu_f32x16_load(x + i) - most - log_sum);
    for (int64_t i = whole; i < size; i++) y[i] = x[i] - most - log_sum;
}

/* ---- up to 16 short rows: of fewer than 16 elements ---- */

/* lanes[k]: element k of all rows; lanes from `size` on stay as they are. */
CPU_INLINE void spread(const float *x, int64_t size, int64_t rows, CpuF32x16 *lanes) {
    float parts[CPU_VECTOR_LANES][CPU_VECTOR_LANES] = {0};
    for (int64_t row = 0; row < rows; row++)
        for (int64_t k = 0; k < size; k++) parts[k][row] = x[row * size + k];
    for (int64_t k = 0; k < size; k++) lanes[k] = cpu_f32x16_load(parts[k]);
}

CPU_INLINE void gather(const CpuF32x16 *lanes, int64_t size, int64_t rows, float *y) {
    float parts[CPU_VECTOR_LANES][CPU_VECTOR_LANES];
    for (int64_t k = 0; k < size; k++) cpu_f32x16_store(parts[k], lanes[k]);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t k = 0; k < size; k++) y[row * size + k] = parts[k][row];
}

CPU_INLINE CpuF32x16 lanes_max(const CpuF32x16 *lanes, int64_t size) {
    CpuF32x16 most = cpu_f32x16_all(MINUS_INFINITY);
    for (int64_t k = 0; k < size; k++) most = cpu_f32x16_max(lanes[k], most);
    return most;
}

/* In the order of cpu_f32x16_sum, with zeros behind the last lane. */
CPU_INLINE CpuF32x16 lanes_sum(const CpuF32x16 *lanes, int64_t size) {
    CpuF32x16 sums[8];
    for (int64_t k = 0; k < 8; k++)
        sums[k] = (k < size ? lanes[k] : cpu_f32x16_all(0)) +
                  (k + 8 < size ? lanes[k + 8] : cpu_f32x16_all(0));
    for (int64_t k = 0; k < 4; k++) sums[k] += sums[k + 4];
    return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

CPU_INLINE void softmax_short_body(
    const float *x, int64_t size, int64_t inner, int64_t rows, float *y) {
    CpuF32x16 lanes[CPU_VECTOR_LANES];
    (void)inner;
    spread(x, size, rows, lanes);
    const CpuF32x16 most = lanes_max(lanes, size);
    for (int64_t k = 0; k < size; k++) lanes[k] = cpu_f32x16_exp(lanes[k] - most);
    const CpuF32x16 scale = 1.0f / lanes_sum(lanes, size);
    for (int64_t k = 0; k < size; k++) lanes[k] *= scale;
    gather(lanes, size, rows, y);
}

CPU_INLINE void log_softmax_short_body(
    const float *x, int64_t size, int64_t inner, int64_t rows, float *y) {
    CpuF32x16 lanes[CPU_VECTOR_LANES], terms[CPU_VECTOR_LANES];
    (void)inner;
    spread(x, size, rows, lanes);
    const CpuF32x16 most = lanes_max(lanes, size);
    for (int64_t k = 0; k < size; k++) terms[k] = cpu_f32x16_exp(lanes[k] - most);
    CpuF32x16 log_sum = lanes_sum(terms, size);
    for (int lane = 0; lane < CPU_VECTOR_LANES; lane++)
        log_sum[lane] = lane < rows ? scalar_log_f32(log_sum[lane]) : 0;
    for (int64_t k = 0; k < size; k++) lanes[k] = lanes[k] - most - log_sum;
    gather(lanes, size, rows, y);
}

/* ---- up to 16 adjacent columns: the axis is not the last one ---- */

CPU_INLINE CpuF32x16 columns_max(const float *x, int64_t size, int64_t inner, int64_t columns) {
    CpuF32x16 most = cpu_f32x16_all(MINUS_INFINITY);
    KERNEL_STOP_EACH (i, 0, size)
        most = cpu_f32x16_max(cpu_f32x16_load_part(x + i * inner, columns, 0), most);
    return most;
}

CPU_INLINE void softmax_columns_body(
    const float *x, int64_t size, int64_t inner, int64_t columns, float *y) {
    const CpuF32x16 most = columns_max(x, size, inner, columns);
    CpuF32x16 sum = {0};
    KERNEL_STOP_EACH (i, 0, size) {
        CpuF32x16 term = cpu_f32x16_exp(cpu_f32x16_load_part(x + i * inner, columns, 0) - most);
        cpu_f32x16_store_part(y + i * inner, columns, term);
        sum += term;
    }
    const CpuF32x16 scale = 1.0f / sum;
    KERNEL_STOP_EACH (i, 0, size) {
        CpuF32x16 term = cpu_f32x16_load_part(y + i * inner, columns, 0);
        cpu_f32x16_store_part(y + i * inner, columns, term * scale);
    }
}

CPU_INLINE void log_softmax_columns_body(
    const float *x, int64_t size, int64_t inner, int64_t columns, float *y) {
    const CpuF32x16 most = columns_max(x, size, inner, columns);
    CpuF32x16 sum = {0};
    KERNEL_STOP_EACH (i, 0, size)
        sum += cpu_f32x16_exp(cpu_f32x16_load_part(x + i * inner, columns, 0) - most);
    CpuF32x16 log_sum;
    for (int lane = 0; lane < CPU_VECTOR_LANES; lane++) log_sum[lane] = scalar_log_f32(sum[lane]);
    KERNEL_STOP_EACH (i, 0, size) {
        CpuF32x16 value = cpu_f32x16_load_part(x + i * inner, columns, 0);
        cpu_f32x16_store_part(y + i * inner, columns, value - most - log_sum);
    }
}

/* ---- the same in halves of eight lanes ---- */

CPU_INLINE CpuF32x8 half_all(float value) { return value - (CpuF32x8){0}; }

/* A row's last elements, fewer than 16, behind which is minus infinity. */
typedef struct RowEnd {
    float lanes[CPU_VECTOR_LANES];
    int64_t whole, left;
} RowEnd;

CPU_INLINE void end_of(const float *x, int64_t size, RowEnd *out) {
    out->whole = size / CPU_VECTOR_LANES * CPU_VECTOR_LANES;
    out->left = size - out->whole;
    for (int half = 0; half < CPU_VECTOR_LANES; half += CPU_HALF_LANES)
        cpu_f32x8_store(out->lanes + half, half_all(MINUS_INFINITY));
    cpu_f32_copy_part(out->lanes, x + out->whole, out->left);
}

CPU_INLINE float row_max_halves(const float *x, const RowEnd *end) {
    CpuF32x8 low = half_all(MINUS_INFINITY), high = low;
    KERNEL_STOP_EVERY (i, 0, end->whole, CPU_VECTOR_LANES) {
        low = cpu_f32x8_max(cpu_f32x8_load(x + i), low);
        high = cpu_f32x8_max(cpu_f32x8_load(x + i + CPU_HALF_LANES), high);
    }
    low = cpu_f32x8_max(cpu_f32x8_load(end->lanes), low);
    high = cpu_f32x8_max(cpu_f32x8_load(end->lanes + CPU_HALF_LANES), high);
    return cpu_f32x8_largest(cpu_f32x8_max(low, high));
}

/* row_exp_sum, whose last terms are left in the lanes of the end. */
CPU_INLINE float row_exp_sum_halves(const float *x, RowEnd *end, float shift, float *y) {
    CpuF32x8 low = {0}, high = {0};
    KERNEL_STOP_EVERY (i, 0, end->whole, CPU_VECTOR_LANES) {
        const CpuF32x8 a = cpu_f32x8_exp(cpu_f32x8_load(x + i) - shift);
        const CpuF32x8 b = cpu_f32x8_exp(cpu_f32x8_load(x + i + CPU_HALF_LANES) - shift);
        if (y) cpu_f32x8_store(y + i, a), cpu_f32x8_store(y + i + CPU_HALF_LANES, b);
        low += a;
        high += b;
    }
    if (end->left == 0) return cpu_f32x8_sum(low, high);
    float *lanes = end->lanes;
    for (int half = 0; half < CPU_VECTOR_LANES; half += CPU_HALF_LANES)
        cpu_f32x8_store(lanes + half, cpu_f32x8_exp(cpu_f32x8_load(lanes + half) - shift));
    low += cpu_f32x8_load(lanes);
    high += cpu_f32x8_load(lanes + CPU_HALF_LANES);
    return cpu_f32x8_sum(low, high);
}

CPU_INLINE void softmax_rows_halves_body(
    const float *x, int64_t size, int64_t inner, int64_t columns, float *y) {
    RowEnd end;
    (void)inner, (void)columns;
    end_of(x, size, &end);
    const float scale = 1.0f / row_exp_sum_halves(x, &end, row_max_halves(x, &end), y);
    KERNEL_STOP_EVERY (i, 0, end.whole, CPU_HALF_LANES)
        cpu_f32x8_store(y + i, cpu_f32x8_load(y + i) * scale);
    for (int half = 0; half < CPU_VECTOR_LANES; half += CPU_HALF_LANES)
        cpu_f32x8_store(end.lanes + half, cpu_f32x8_load(end.lanes + half) * scale);
    cpu_f32_copy_part(y + end.whole, end.lanes, end.left);
}

CPU_INLINE void log_softmax_rows_halves_body(
    const float *x, int64_t size, int64_t inner, int64_t columns, float *y) {
    RowEnd end;
    (void)inner, (void)columns;
    end_of(x, size, &end);
    const float most = row_max_halves(x, &end);
    const float log_sum = scalar_log_f32(row_exp_sum_halves(x, &end, most, NULL));
    KERNEL_STOP_EVERY (i, 0, end.whole, CPU_HALF_LANES)
        cpu_f32x8_store(y + i, cpu_f32x8_load(x + i) - most - log_sum);
    for (int64_t i = end.whole; i < size; i++) y[i] = x[i] - most - log_sum;
}

/* Up to eight short rows: lanes[k] is element k of all. The lanes behind a row's end are zeros, as
 * lanes_sum takes them. */
CPU_INLINE void short_half(const float *x, int64_t size, int64_t rows, bool logarithm, float *y) {
    enum { LANES = CPU_HALF_LANES };
    float parts[CPU_VECTOR_LANES][LANES] = {0};
    CpuF32x8 terms[CPU_VECTOR_LANES] = {0}, most = half_all(MINUS_INFINITY);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t k = 0; k < size; k++) parts[k][row] = x[row * size + k];
    for (int64_t k = 0; k < size; k++) most = cpu_f32x8_max(cpu_f32x8_load(parts[k]), most);
    for (int64_t k = 0; k < size; k++) terms[k] = cpu_f32x8_exp(cpu_f32x8_load(parts[k]) - most);
    CpuF32x8 sums[LANES];
    for (int64_t k = 0; k < LANES; k++) sums[k] = terms[k] + terms[k + LANES];
    for (int64_t k = 0; k < LANES / 2; k++) sums[k] += sums[k + LANES / 2];
    CpuF32x8 sum = (sums[0] + sums[2]) + (sums[1] + sums[3]);
    if (logarithm)
        for (int lane = 0; lane < LANES; lane++)
            sum[lane] = lane < rows ? scalar_log_f32(sum[lane]) : 0;
    const CpuF32x8 scale = logarithm ? sum : 1.0f / sum;
    for (int64_t k = 0; k < size; k++)
        cpu_f32x8_store(
            parts[k], logarithm ? cpu_f32x8_load(parts[k]) - most - scale : terms[k] * scale);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t k = 0; k < size; k++) y[row * size + k] = parts[k][row];
}

#define EACH_HALF(at, count) for (int64_t at = 0; at < (count); at += CPU_HALF_LANES)

CPU_INLINE int64_t half_count(int64_t count, int64_t at) {
    return count - at < CPU_HALF_LANES ? count - at : CPU_HALF_LANES;
}

CPU_INLINE void softmax_short_halves_body(
    const float *x, int64_t size, int64_t inner, int64_t rows, float *y) {
    (void)inner;
    EACH_HALF(at, rows) short_half(x + at * size, size, half_count(rows, at), false, y + at * size);
}

CPU_INLINE void log_softmax_short_halves_body(
    const float *x, int64_t size, int64_t inner, int64_t rows, float *y) {
    (void)inner;
    EACH_HALF(at, rows) short_half(x + at * size, size, half_count(rows, at), true, y + at * size);
}

CPU_INLINE CpuF32x8 half_load(const float *from, int64_t count) {
    float lanes[CPU_HALF_LANES] = {0};
    if (count == CPU_HALF_LANES) return cpu_f32x8_load(from);
    cpu_f32_copy_part(lanes, from, count);
    return cpu_f32x8_load(lanes);
}
CPU_INLINE void half_store(float *to, int64_t count, CpuF32x8 value) {
    float lanes[CPU_HALF_LANES];
    if (count == CPU_HALF_LANES) {
        cpu_f32x8_store(to, value);
        return;
    }
    cpu_f32x8_store(lanes, value);
    cpu_f32_copy_part(to, lanes, count);
}

/* Up to eight columns. count is a constant where all eight are there. */
CPU_INLINE void columns_half(
    const float *x, int64_t size, int64_t inner, int64_t count, bool logarithm, float *y) {
    CpuF32x8 most = half_all(MINUS_INFINITY), sum = {0};
    KERNEL_STOP_EACH (i, 0, size) most = cpu_f32x8_max(half_load(x + i * inner, count), most);
    KERNEL_STOP_EACH (i, 0, size) {
        const CpuF32x8 term = cpu_f32x8_exp(half_load(x + i * inner, count) - most);
        if (!logarithm) half_store(y + i * inner, count, term);
        sum += term;
    }
    if (logarithm)
        for (int lane = 0; lane < CPU_HALF_LANES; lane++) sum[lane] = scalar_log_f32(sum[lane]);
    const CpuF32x8 scale = logarithm ? sum : 1.0f / sum;
    KERNEL_STOP_EACH (i, 0, size) {
        const CpuF32x8 value = half_load((logarithm ? x : y) + i * inner, count);
        half_store(y + i * inner, count, logarithm ? value - most - scale : value * scale);
    }
}

CPU_INLINE void columns_halves(
    const float *x, int64_t size, int64_t inner, int64_t columns, bool logarithm, float *y) {
    EACH_HALF(at, columns) {
        if (half_count(columns, at) == CPU_HALF_LANES)
            columns_half(x + at, size, inner, CPU_HALF_LANES, logarithm, y + at);
        else
            columns_half(x + at, size, inner, half_count(columns, at), logarithm, y + at);
    }
}

CPU_INLINE void softmax_columns_halves_body(
    const float *x, int64_t size, int64_t inner, int64_t columns, float *y) {
    columns_halves(x, size, inner, columns, false, y);
}

CPU_INLINE void log_softmax_columns_halves_body(
    const float *x, int64_t size, int64_t inner, int64_t columns, float *y) {
    columns_halves(x, size, inner, columns, true, y);
}

/* ---- the choice ---- */

CPU_VARIANTS_HALVES(softmax_rows,
    (const float *x, int64_t size, int64_t inner, int64_t columns, float *y),
    (x, size, inner, columns, y));
CPU_VARIANTS_HALVES(log_softmax_rows,
    (const float *x, int64_t size, int64_t inner, int64_t columns, float *y),
    (x, size, inner, columns, y));
CPU_VARIANTS_HALVES(softmax_short,
    (const float *x, int64_t size, int64_t inner, int64_t rows, float *y),
    (x, size, inner, rows, y));
CPU_VARIANTS_HALVES(log_softmax_short,
    (const float *x, int64_t size, int64_t inner, int64_t rows, float *y),
    (x, size, inner, rows, y));
CPU_VARIANTS_HALVES(softmax_columns,
    (const float *x, int64_t size, int64_t inner, int64_t columns, float *y),
    (x, size, inner, columns, y));
CPU_VARIANTS_HALVES(log_softmax_columns,
    (const float *x, int64_t size, int64_t inner, int64_t columns, float *y),
    (x, size, inner, columns, y));

static CpuSoftmaxBlock *rows_for(CpuLevel level) {
#if defined(__x86_64__)
    if (level == CPU_LEVEL_AVX512) return softmax_rows_masked;
#endif
    return softmax_rows_for(level);
}

CpuSoftmaxBlock *cpu_softmax_block_for(CpuLevel level, CpuSoftmaxForm form, bool logarithm) {
    if (form == CPU_SOFTMAX_ROW) return logarithm ? log_softmax_rows_for(level) : rows_for(level);
    if (form == CPU_SOFTMAX_COLUMNS)
        return logarithm ? log_softmax_columns_for(level) : softmax_columns_for(level);
    return logarithm ? log_softmax_short_for(level) : softmax_short_for(level);
}
