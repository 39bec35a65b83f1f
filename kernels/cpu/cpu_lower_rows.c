#include "kernels/cpu/cpu_lower_rows.h"

#include <math.h>

#include "kernels/cpu/cpu_vector.h"

typedef uint32_t U32x16 __attribute__((vector_size(64)));
typedef int16_t I16x16 __attribute__((vector_size(32)));
typedef int32_t I32x16Unaligned __attribute__((vector_size(64), aligned(4), may_alias));
typedef int16_t I16x16Unaligned __attribute__((vector_size(32), aligned(2), may_alias));

static const float BYTE_MAX = 255, RANGE_MIN = 0x1p-100F;
/* 1.5 * 2^23: added, it leaves the rounded integer in the low mantissa bits */
static const float ROUNDER = 12582912.0F;

/* ---- bfloat16 ---- */

CPU_INLINE CpuF32x16 round_lanes(CpuF32x16 x) {
    const U32x16 bits = (U32x16)x;
    const U32x16 rounded = (bits + 0x7FFFu + (bits >> 16 & 1u)) & 0xFFFF0000u;
    const CpuI32x16 is_nan = (CpuI32x16)((bits & 0x7FFFFFFFu) > 0x7F800000u);
    return cpu_f32x16_select(
        is_nan, (CpuF32x16)(CpuI32x16)(rounded * 0 + 0x7FC00000u), (CpuF32x16)rounded);
}

CPU_INLINE void round_row_body(const float *from, int64_t depth, float *to) {
    int64_t i = 0;
    for (; i + CPU_VECTOR_LANES <= depth; i += CPU_VECTOR_LANES)
        cpu_f32x16_store(to + i, round_lanes(cpu_f32x16_load(from + i)));
    const int64_t left = depth + depth % 2 - i; /* of to */
    if (left > 0)
        cpu_f32x16_store_part(
            to + i, left, round_lanes(cpu_f32x16_load_part(from + i, depth - i, 0)));
}
CPU_VARIANTS(round_row, (const float *from, int64_t depth, float *to), (from, depth, to));

/* ---- int8 ---- */

/* Infinity where there is an infinity or a NaN. */
CPU_INLINE float row_range(const float *from, int64_t depth, float *out_low) {
    CpuF32x16 low = {0}, high = {0};
    CpuI32x16 magnitude = {0};
    for (int64_t i = 0; i < depth; i += CPU_VECTOR_LANES) {
        const CpuF32x16 x = cpu_f32x16_load_part(from + i, depth - i, 0);
        const CpuI32x16 bits = (CpuI32x16)x & 0x7FFFFFFF;
        const CpuI32x16 larger = bits > magnitude;
        low = cpu_f32x16_min(x, low);
        high = cpu_f32x16_max(x, high);
        magnitude = (bits & larger) | (magnitude & ~larger);
    }
    float least = 0, most = 0;
    bool finite = true;
    for (int i = 0; i < CPU_VECTOR_LANES; i++) {
        least = low[i] < least ? low[i] : least;
        most = high[i] > most ? high[i] : most;
        finite = finite && magnitude[i] < 0x7F800000;
    }
    *out_low = least;
    return finite ? most - least : INFINITY;
}

CPU_INLINE void quantize_row_body(const float *from, int64_t depth, int16_t *to, float *out_step) {
    float low;
    float range = row_range(from, depth, &low);
    if (range == INFINITY) {
        memset(to, 0, (size_t)(depth + depth % 2) * sizeof *to);
        *out_step = NAN;
        return;
    }
    range = range > RANGE_MIN ? range : RANGE_MIN;
    const float inverse = BYTE_MAX / range;
    const int32_t zero = (int32_t)(-low * inverse + ROUNDER - ROUNDER);
    const CpuI32x16 least = cpu_i32x16_all(-zero), most = cpu_i32x16_all((int32_t)BYTE_MAX - zero);
    for (int64_t i = 0; i < depth; i += CPU_VECTOR_LANES) {
        const CpuF32x16 x = cpu_f32x16_load_part(from + i, depth - i, 0);
        CpuI32x16 n = (CpuI32x16)(x * inverse + ROUNDER) - 0x4B400000;
        n = (n & (n > least)) | (least & ~(n > least));
        n = (n & (n < most)) | (most & ~(n < most));
        const I16x16 narrow = __builtin_convertvector(n, I16x16);
        const int64_t left = depth + depth % 2 - i;
        if (left >= CPU_VECTOR_LANES)
            *(I16x16Unaligned *)(to + i) = narrow;
        else
            for (int64_t j = 0; j < left; j++) to[i + j] = narrow[j];
    }
    *out_step = range / BYTE_MAX;
}
CPU_VARIANTS(quantize_row, (const float *from, int64_t depth, int16_t *to, float *out_step),
    (from, depth, to, out_step));

CPU_INLINE void scale_row_body(
    const int32_t *sums, float step, const float *scales, int64_t count, float *to) {
    int64_t i = 0;
    for (; i + CPU_VECTOR_LANES <= count; i += CPU_VECTOR_LANES) {
        const CpuI32x16 lanes = *(const I32x16Unaligned *)(sums + i);
        cpu_f32x16_store(to + i,
            __builtin_convertvector(lanes, CpuF32x16) * (step * cpu_f32x16_load(scales + i)));
    }
    for (; i < count; i++) to[i] = (float)sums[i] * (step * scales[i]);
}
CPU_VARIANTS(scale_row,
    (const int32_t *sums, float step, const float *scales, int64_t count, float *to),
    (sums, step, scales, count, to));

CpuLowerRows cpu_lower_rows_for(CpuLevel level) {
    return (CpuLowerRows){round_row_for(level), quantize_row_for(level), scale_row_for(level)};
}
