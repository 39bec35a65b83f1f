#include "kernels/cpu/quantized/cpu_lower_rows.h"

#include <math.h>

#include "kernels/cpu/core/cpu_vector.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

typedef uint32_t U32x16 __attribute__((vector_size(64)));
typedef uint16_t U16x16 __attribute__((vector_size(32)));
typedef uint16_t U16x16Unaligned __attribute__((vector_size(32), aligned(2), may_alias));
typedef int32_t I32x16Unaligned __attribute__((vector_size(64), aligned(4), may_alias));

static const float BYTE_MAX = 255, HALF_RANGE_MIN = 0x1p-101F;
/* 1.5 * 2^23: adding and subtracting it rounds a small number, ties to even */
static const float ROUNDER = 12582912.0F;

/* ---- bfloat16 ---- */

CPU_INLINE CpuF32x16 round_lanes(CpuF32x16 x) {
    const U32x16 bits = (U32x16)x;
    const U32x16 rounded = (bits + 0x7FFFu + (bits >> 16 & 1u)) & 0xFFFF0000u;
    const CpuI32x16 is_nan = (CpuI32x16)(bits & 0x7FFFFFFFu) > 0x7F800000;
    return cpu_f32x16_select(
        is_nan, (CpuF32x16)(CpuI32x16)(rounded * 0 + 0x7FC00000u), (CpuF32x16)rounded);
}

CPU_INLINE void round_row_body(const float *from, int64_t depth, void *out) {
    float *to = out;
    int64_t i = 0;
    for (; i + CPU_VECTOR_LANES <= depth; i += CPU_VECTOR_LANES)
        cpu_f32x16_store(to + i, round_lanes(cpu_f32x16_load(from + i)));
    const int64_t left = depth + depth % 2 - i; /* elements left in `to` */
    if (left > 0)
        cpu_f32x16_store_part(
            to + i, left, round_lanes(cpu_f32x16_load_part(from + i, depth - i, 0)));
}
CPU_VARIANTS(round_row, (const float *from, int64_t depth, void *out), (from, depth, out));

#if defined(__x86_64__)
/* Vectors of eight: at AVX2 compilers compare sixteen lanes one by one. */
CPU_TARGET_AVX2 static void round_eight(const float *from, float *to) {
    const __m256i one = _mm256_set1_epi32(1), half = _mm256_set1_epi32(0x7FFF);
    const __m256i bits = _mm256_loadu_si256((const __m256i *)(const void *)from);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
    const __m256i sum = _mm256_add_epi32(_mm256_add_epi32(bits, half), odd);
    const __m256i rounded = _mm256_and_si256(sum, _mm256_set1_epi32((int32_t)0xFFFF0000));
    const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7FFFFFFF));
    const __m256i is_nan = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7F800000));
    _mm256_storeu_si256(
        (__m256i *)(void *)to, _mm256_blendv_epi8(rounded, _mm256_set1_epi32(0x7FC00000), is_nan));
}

CPU_TARGET_AVX2 static void round_row_eights(const float *from, int64_t depth, void *out) {
    enum { EIGHT = 8 };
    float *to = out, end[EIGHT] = {0};
    int64_t i = 0;
    for (; i + EIGHT <= depth; i += EIGHT) round_eight(from + i, to + i);
    const int64_t left = depth - i;
    if (left == 0) return;
    for (int64_t k = 0; k < left; k++) end[k] = from[i + k];
    round_eight(end, end);
    for (int64_t k = 0; k < left + left % 2; k++) to[i + k] = end[k];
}
#endif

/* Rounds a row to bfloat16. */
CPU_INLINE void round_row_dot_body(const float *from, int64_t depth, void *out) {
    uint16_t *to = out;
    for (int64_t i = 0; i < depth; i += CPU_VECTOR_LANES) {
        const CpuF32x16 rounded = round_lanes(cpu_f32x16_load_part(from + i, depth - i, 0));
        const U16x16 halves = __builtin_convertvector((U32x16)rounded >> 16, U16x16);
        const int64_t left = depth + depth % 2 - i;
        if (left >= CPU_VECTOR_LANES)
            *(U16x16Unaligned *)(to + i) = halves;
        else
            memcpy(to + i, &halves, (size_t)left * sizeof *to);
    }
}
CPU_VARIANTS(round_row_dot, (const float *from, int64_t depth, void *out), (from, depth, out));

/* ---- int8 ---- */

CpuLowerScale cpu_lower_scale_of(const CpuLowerRange *range) {
    float half = range->high / 2 - range->low / 2; /* the whole may be beyond float32 */
    half = half > HALF_RANGE_MIN ? half : HALF_RANGE_MIN;
    const float inverse = BYTE_MAX / 2 / half;
    const float zero = -range->low * inverse + ROUNDER - ROUNDER;
    return (CpuLowerScale){inverse, half / (BYTE_MAX / 2), (int32_t)zero, range->finite};
}

/* The quantized byte minus its zero point. */
static int16_t quantize(const CpuLowerScale *scale, float x) {
    if (!isfinite(x)) return 0;
    const int32_t n = (int32_t)(x * scale->inverse + ROUNDER - ROUNDER);
    const int32_t least = -scale->zero, most = (int32_t)BYTE_MAX - scale->zero;
    return (int16_t)(n < least ? least : n > most ? most : n);
}

static void measure_portable(const float *from, int64_t count, CpuLowerRange *inout_range) {
    CpuLowerRange range = *inout_range;
    for (int64_t i = 0; i < count; i++) {
        const bool finite = isfinite(from[i]);
        range.low = finite && from[i] < range.low ? from[i] : range.low;
        range.high = finite && from[i] > range.high ? from[i] : range.high;
        range.finite = range.finite && finite;
    }
    *inout_range = range;
}

static void quantize_portable(
    const float *from, int64_t count, const CpuLowerScale *scale, void *out) {
    int16_t *to = out;
    for (int64_t i = 0; i < count; i++) to[i] = quantize(scale, from[i]);
    if (count % 2) to[count] = 0;
}

#if defined(__x86_64__)
/* The same for eight elements at a time: with vectors of the compiler, measuring cost as much as
 * the product. Rows with elements that are not finite take the portable way, since these functions
 * treat all elements alike. */
CPU_TARGET_AVX2 static void measure_whole_avx2(
    const float *from, int64_t count, CpuLowerRange *inout_range) {
    const __m256i magnitude = _mm256_set1_epi32(0x7FFFFFFF);
    __m256 low = _mm256_setzero_ps(), high = low;
    __m256i largest = _mm256_setzero_si256();
    for (int64_t i = 0; i < count; i += 8) {
        const __m256 x = _mm256_loadu_ps(from + i);
        low = _mm256_min_ps(x, low);
        high = _mm256_max_ps(x, high);
        largest = _mm256_max_epi32(largest, _mm256_and_si256(_mm256_castps_si256(x), magnitude));
    }
    float lows[8], highs[8];
    int32_t sizes[8];
    _mm256_storeu_ps(lows, low);
    _mm256_storeu_ps(highs, high);
    _mm256_storeu_si256((__m256i *)(void *)sizes, largest);
    CpuLowerRange range = *inout_range;
    bool finite = true;
    for (int i = 0; i < 8; i++) {
        range.low = lows[i] < range.low ? lows[i] : range.low;
        range.high = highs[i] > range.high ? highs[i] : range.high;
        finite = finite && sizes[i] < 0x7F800000;
    }
    if (finite)
        *inout_range = range;
    else
        measure_portable(from, count, inout_range);
}

CPU_TARGET_AVX2 static void measure_avx2(
    const float *from, int64_t count, CpuLowerRange *inout_range) {
    const int64_t whole = count / 8 * 8;
    measure_whole_avx2(from, whole, inout_range);
    measure_portable(from + whole, count - whole, inout_range);
}

CPU_TARGET_AVX2 static void quantize_whole_avx2(
    const float *from, int64_t count, const CpuLowerScale *scale, int16_t *to) {
    const __m256 inverse = _mm256_set1_ps(scale->inverse);
    const __m256i least = _mm256_set1_epi32(-scale->zero);
    const __m256i most = _mm256_set1_epi32((int32_t)BYTE_MAX - scale->zero);
    for (int64_t i = 0; i < count; i += 16) {
        __m256i n[2];
        CPU_UNROLL for (int v = 0; v < 2; v++) {
            const __m256 x = _mm256_mul_ps(_mm256_loadu_ps(from + i + v * 8), inverse);
            n[v] = _mm256_max_epi32(_mm256_cvtps_epi32(x), least);
            n[v] = _mm256_min_epi32(n[v], most);
        }
        const __m256i packed = _mm256_permute4x64_epi64(_mm256_packs_epi32(n[0], n[1]), 0xD8);
        _mm256_storeu_si256((__m256i *)(void *)(to + i), packed);
    }
}

CPU_TARGET_AVX2 static void quantize_avx2(
    const float *from, int64_t count, const CpuLowerScale *scale, void *out) {
    int16_t *to = out, bytes[16];
    const int64_t whole = count / 16 * 16, rest = count - whole;
    if (!scale->finite) {
        quantize_portable(from, count, scale, out);
        return;
    }
    quantize_whole_avx2(from, whole, scale, to);
    if (rest == 0) return;
    float end[16] = {0};
    for (int64_t i = 0; i < rest; i++) end[i] = from[whole + i];
    quantize_whole_avx2(end, 16, scale, bytes);
    memcpy(to + whole, bytes, (size_t)(rest + rest % 2) * sizeof *to);
}

/* ---- int8 as bytes without a sign ---- */

/* A mask of the first `count` lanes, at most 16. */
static __mmask16 first_lanes(int64_t count) {
    return count < 16 ? (__mmask16)((1 << count) - 1) : 0xFFFF;
}

CPU_TARGET_AVX512 static void measure_dot(
    const float *from, int64_t count, CpuLowerRange *inout_range) {
    const __m512i magnitude = _mm512_set1_epi32(0x7FFFFFFF);
    __m512 low = _mm512_set1_ps(inout_range->low), high = _mm512_set1_ps(inout_range->high);
    __m512i largest = _mm512_setzero_si512();
    for (int64_t i = 0; i < count; i += 16) {
        const __mmask16 mask = first_lanes(count - i);
        const __m512 x = _mm512_maskz_loadu_ps(mask, from + i);
        low = _mm512_min_ps(x, low);
        high = _mm512_max_ps(x, high);
        largest = _mm512_max_epi32(largest, _mm512_and_si512(_mm512_castps_si512(x), magnitude));
    }
    if (_mm512_reduce_max_epi32(largest) >= 0x7F800000) {
        measure_portable(from, count, inout_range);
        return;
    }
    inout_range->low = _mm512_reduce_min_ps(low);
    inout_range->high = _mm512_reduce_max_ps(high);
}

CPU_TARGET_AVX512 static void quantize_dot(
    const float *from, int64_t count, const CpuLowerScale *scale, void *out) {
    uint8_t *to = out;
    if (!scale->finite) {
        for (int64_t i = 0; i < (count + 3) / 4 * 4; i++)
            to[i] = i < count ? (uint8_t)(quantize(scale, from[i]) + scale->zero) : 0;
        return;
    }
    const __m512 inverse = _mm512_set1_ps(scale->inverse);
    const __m512i zero = _mm512_set1_epi32(scale->zero), least = _mm512_setzero_si512();
    const __m512i most = _mm512_set1_epi32((int32_t)BYTE_MAX);
    for (int64_t i = 0; i < count; i += 16) {
        const int64_t left = count - i;
        const __mmask16 mask = first_lanes(left), to_mask = first_lanes((left + 3) / 4 * 4);
        const __m512 x = _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, from + i), inverse);
        __m512i n = _mm512_maskz_add_epi32(mask, _mm512_cvtps_epi32(x), zero);
        n = _mm512_min_epi32(_mm512_max_epi32(n, least), most);
        _mm512_mask_cvtepi32_storeu_epi8(to + i, to_mask, n);
    }
}
#endif

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

CpuLowerRows cpu_lower_rows_for(CpuLevel level, CpuLowerForm form) {
    CpuLowerRows rows = {
        .round = form == CPU_LOWER_BFLOAT16_DOT ? round_row_dot_for(level) : round_row_for(level),
        .measure = measure_portable,
        .quantize = quantize_portable,
        .scale = scale_row_for(level),
    };
#if defined(__x86_64__)
    if (level == CPU_LEVEL_AVX2 && form != CPU_LOWER_BFLOAT16_DOT) rows.round = round_row_eights;
    if (level >= CPU_LEVEL_AVX2) rows.measure = measure_avx2, rows.quantize = quantize_avx2;
    if (form == CPU_LOWER_INT8_DOT) rows.measure = measure_dot, rows.quantize = quantize_dot;
#endif
    return rows;
}
