#include "kernels/cpu/quantized/cpu_requantize.h"

#include <float.h>
#include <string.h>

#include "kernels/cpu/core/cpu_vector.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

typedef uint8_t U8x16 __attribute__((vector_size(16)));
typedef uint8_t U8x16Unaligned __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint32_t U32x16 __attribute__((vector_size(64)));
typedef uint32_t U32x16Unaligned __attribute__((vector_size(64), aligned(4), may_alias));

enum { LANES = CPU_VECTOR_LANES };

float cpu_requantize_factor(float x_scale, float w_scale, float y_scale) {
    const float factor = x_scale * w_scale / y_scale;
    if (factor != factor) return 0; /* the zero point */
    if (factor > FLT_MAX) return FLT_MAX;
    return factor < -FLT_MAX ? -FLT_MAX : factor;
}

/* ---- in float32 ---- */

/* 1.5 * 2^23 leaves the rounded integer in the low mantissa bits. */
CPU_INLINE U8x16 bytes_of(const CpuRequantizeTo *to, U32x16 sums, U32x16 bias, CpuF32x16 factors) {
    const int32_t least = to->is_signed ? -128 : 0;
    const float low = (float)(least - to->zero_point), high = low + 255;
    CpuF32x16 x = __builtin_convertvector((CpuI32x16)(sums + bias), CpuF32x16) * factors;
    x = cpu_f32x16_min(cpu_f32x16_max(x, cpu_f32x16_all(low)), cpu_f32x16_all(high));
    const CpuI32x16 bits = (CpuI32x16)(x + 12582912.0f);
    return __builtin_convertvector(bits - (0x4b400000 - to->zero_point), U8x16);
}

CPU_INLINE void requantize_body(const CpuRequantizeTo *to, const int32_t *sums, const int32_t *bias,
    const float *factors, int64_t count, uint8_t *out) {
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        *(U8x16Unaligned *)(out + i) = bytes_of(to, *(const U32x16Unaligned *)(sums + i),
            *(const U32x16Unaligned *)(bias + i), cpu_f32x16_load(factors + i));
    if (i == count) return;
    U32x16 last = {0}, last_bias = {0};
    CpuF32x16 last_factors = {0};
    const size_t left = (size_t)(count - i);
    memcpy(&last, sums + i, left * sizeof *sums);
    memcpy(&last_bias, bias + i, left * sizeof *bias);
    memcpy(&last_factors, factors + i, left * sizeof *factors);
    const U8x16 bytes = bytes_of(to, last, last_bias, last_factors);
    memcpy(out + i, &bytes, left);
}

CPU_VARIANTS(requantize,
    (const CpuRequantizeTo *to, const int32_t *sums, const int32_t *bias, const float *factors,
        int64_t count, uint8_t *out),
    (to, sums, bias, factors, count, out));

#if defined(__x86_64__)
/* The same with instructions that gcc 12 does not find: it takes bytes out of vectors one by one.
 */
enum { EIGHT = 8 };

/* The lowest byte of each number, which fits one. */
CPU_TARGET_AVX2 static __m128i lowest_bytes(__m256i numbers) {
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(numbers), _mm256_extracti128_si256(numbers, 1));
    return _mm_packus_epi16(_mm_and_si128(words, _mm_set1_epi16(0xFF)), _mm_setzero_si128());
}

/* The first `count` lanes, at most eight. */
CPU_TARGET_AVX2 static __m256i first_lanes(int64_t count) {
    return _mm256_cmpgt_epi32(
        _mm256_set1_epi32((int32_t)count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* The rounded product of eight sums, of which one beyond int16 may be any number beyond it on the
 * same side. */
CPU_TARGET_AVX2 CPU_INLINE __m256i rounded_eight(__m256i sums, __m256i bias, __m256 factors) {
    const __m256 x = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_add_epi32(sums, bias)), factors);
    /* a number below int32 becomes the lowest one */
    return _mm256_cvtps_epi32(_mm256_min_ps(x, _mm256_set1_ps(INT16_MAX)));
}

/* Sixteen numbers that int16 saturates, plus a zero point; the halves are woven. */
CPU_TARGET_AVX2 CPU_INLINE __m256i words_of(__m256i low, __m256i high, __m256i zero) {
    return _mm256_adds_epi16(_mm256_packs_epi32(low, high), zero);
}

CPU_TARGET_AVX2 CPU_INLINE __m256i saturated(bool is_signed, __m256i low, __m256i high) {
    return is_signed ? _mm256_packs_epi16(low, high) : _mm256_packus_epi16(low, high);
}

/* VECTORS × 8 columns from `at` on of all rows; with one vector, the first `columns`. */
#define REQUANTIZE_COLUMNS(VECTORS)                                                                \
    CPU_TARGET_AVX2 static void requantize_columns_##VECTORS(                                      \
        const CpuRequantizeRows *rows, int64_t at, int64_t columns) {                              \
        const __m256i zero = _mm256_set1_epi16((int16_t)rows->to.zero_point);                      \
        const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);                           \
        const __m256i there = first_lanes(columns);                                                \
        __m256i bias[VECTORS];                                                                     \
        __m256 factors[VECTORS];                                                                   \
        CPU_UNROLL for (int v = 0; v < (VECTORS); v++) {                                           \
            bias[v] = _mm256_maskload_epi32(rows->bias + at + v * EIGHT, there);                   \
            factors[v] = _mm256_maskload_ps(rows->factors + at + v * EIGHT, there);                \
        }                                                                                          \
        const int32_t *from = rows->sums + at;                                                     \
        uint8_t *to = rows->out + at;                                                              \
        for (int64_t row = 0; row < rows->rows;                                                    \
             row++, from += rows->sums_step, to += rows->out_step) {                               \
            __m256i x[VECTORS];                                                                    \
            CPU_UNROLL for (int v = 0; v < (VECTORS); v++) x[v] = rounded_eight(                   \
                (VECTORS) > 1 ? _mm256_loadu_si256((const __m256i *)(const void *)(from + v * 8))  \
                              : _mm256_maskload_epi32(from, there),                                \
                bias[v], factors[v]);                                                              \
            const __m256i low = words_of(x[0], x[(VECTORS) > 1], zero);                            \
            const __m256i high =                                                                   \
                (VECTORS) > 2 ? words_of(x[(VECTORS)-2], x[(VECTORS)-1], zero) : low;              \
            const __m256i bytes =                                                                  \
                _mm256_permutevar8x32_epi32(saturated(rows->to.is_signed, low, high), order);      \
            store_columns(to, bytes, columns);                                                     \
        }                                                                                          \
    }                                                                                              \
    struct requantize_columns_need_semicolon

CPU_TARGET_AVX2 CPU_INLINE void store_columns(uint8_t *to, __m256i bytes, int64_t columns) {
    const int64_t eight = _mm_cvtsi128_si64(_mm256_castsi256_si128(bytes));
    if (columns == 4 * EIGHT)
        _mm256_storeu_si256((__m256i *)(void *)to, bytes);
    else if (columns == 2 * EIGHT)
        _mm_storeu_si128((__m128i *)(void *)to, _mm256_castsi256_si128(bytes));
    else if (columns == EIGHT)
        memcpy(to, &eight, EIGHT);
    else
        memcpy(to, &eight, (size_t)columns);
}

REQUANTIZE_COLUMNS(4);
REQUANTIZE_COLUMNS(2);
REQUANTIZE_COLUMNS(1);

static void requantize_rows_avx2(const CpuRequantizeRows *rows) {
    int64_t at = 0;
    for (; at + 4 * EIGHT <= rows->count; at += 4 * EIGHT)
        requantize_columns_4(rows, at, 4 * EIGHT);
    if (at + 2 * EIGHT <= rows->count) {
        requantize_columns_2(rows, at, 2 * EIGHT);
        at += 2 * EIGHT;
    }
    for (; at < rows->count; at += EIGHT)
        requantize_columns_1(rows, at, rows->count - at < EIGHT ? rows->count - at : EIGHT);
}

static void requantize_eights(const CpuRequantizeTo *to, const int32_t *sums, const int32_t *bias,
    const float *factors, int64_t count, uint8_t *out) {
    requantize_rows_avx2(&(CpuRequantizeRows){.to = *to,
        .rows = 1,
        .count = count,
        .sums = sums,
        .bias = bias,
        .factors = factors,
        .out = out});
}

CPU_TARGET_AVX512 static void requantize_whole(const CpuRequantizeTo *to, const int32_t *sums,
    const int32_t *bias, const float *factors, int64_t count, uint8_t *out) {
    const int32_t least = to->is_signed ? -128 : 0;
    const __m512 low = _mm512_set1_ps((float)(least - to->zero_point));
    const __m512 high = _mm512_add_ps(low, _mm512_set1_ps(255));
    const __m512 rounder = _mm512_set1_ps(12582912.0f);
    const __m512i shift = _mm512_set1_epi32(0x4b400000 - to->zero_point);
    for (int64_t i = 0; i < count; i += LANES) {
        const int64_t left = count - i < LANES ? count - i : LANES;
        const __mmask16 there = (__mmask16)(0xFFFF >> (LANES - left));
        const __m512i sum = _mm512_add_epi32(
            _mm512_maskz_loadu_epi32(there, sums + i), _mm512_maskz_loadu_epi32(there, bias + i));
        __m512 x =
            _mm512_mul_ps(_mm512_cvtepi32_ps(sum), _mm512_maskz_loadu_ps(there, factors + i));
        x = _mm512_min_ps(_mm512_max_ps(x, low), high);
        const __m512i bits = _mm512_castps_si512(_mm512_add_ps(x, rounder));
        _mm_mask_storeu_epi8(out + i, there, _mm512_cvtepi32_epi8(_mm512_sub_epi32(bits, shift)));
    }
}
#endif

CpuRequantizeSums *cpu_requantize_for(CpuLevel level) {
#if defined(__x86_64__)
    if (level == CPU_LEVEL_AVX512) return requantize_whole;
    if (level == CPU_LEVEL_AVX2) return requantize_eights;
#endif
    return requantize_for(level);
}

static void requantize_each(const CpuRequantizeRows *rows, CpuRequantizeSums *requantize) {
    for (int64_t row = 0; row < rows->rows; row++)
        requantize(&rows->to, rows->sums + row * rows->sums_step, rows->bias, rows->factors,
            rows->count, rows->out + row * rows->out_step);
}

static void requantize_rows_portable(const CpuRequantizeRows *rows) {
    requantize_each(rows, requantize_for(CPU_LEVEL_PORTABLE));
}

#if defined(__x86_64__)
static void requantize_rows_avx512(const CpuRequantizeRows *rows) {
    requantize_each(rows, requantize_whole);
}
#endif

CpuRequantizeRowsRun *cpu_requantize_rows_for(CpuLevel level) {
#if defined(__x86_64__)
    if (level == CPU_LEVEL_AVX512) return requantize_rows_avx512;
    if (level == CPU_LEVEL_AVX2) return requantize_rows_avx2;
#endif
    (void)level;
    return requantize_rows_portable;
}

/* ---- in float64 ---- */

/* Eight at a time. The limits are whole numbers, so a number may be limited before it is rounded;
 * then adding and subtracting 1.5 * 2^52 rounds it, ties to even. */
typedef int32_t I32x8Unaligned __attribute__((vector_size(32), aligned(4), may_alias));
typedef int64_t I64x8 __attribute__((vector_size(64)));
typedef uint8_t U8x8 __attribute__((vector_size(8)));

CPU_INLINE CpuF64x8 select_f64(I64x8 mask, CpuF64x8 yes, CpuF64x8 no) {
    return (CpuF64x8)((mask & (I64x8)yes) | (~mask & (I64x8)no));
}

CPU_INLINE void requantize_eight(
    const CpuRequantizeTo *to, const int32_t *sums, const float *factors, uint8_t *out) {
    const double low = (to->is_signed ? -128 : 0) - to->zero_point, high = low + 255;
    const CpuF64x8 none = {0}, rounder = none + 0x1.8p52;
    const CpuF64x8 wide = __builtin_convertvector(*(const I32x8Unaligned *)sums, CpuF64x8);
    CpuF64x8 x = wide * __builtin_convertvector(*(const CpuF32x8Unaligned *)factors, CpuF64x8);
    x = (CpuF64x8)((I64x8)x & (I64x8)(x == x)); /* NaN is 0 */
    x = select_f64(x < none + low, none + low, x);
    x = select_f64(x > none + high, none + high, x);
    /* the lowest bits of the sum are the rounded number */
    const I64x8 rounded = (I64x8)(x + rounder) + to->zero_point;
    const U8x8 bytes = __builtin_convertvector(rounded, U8x8);
    memcpy(out, &bytes, sizeof bytes);
}

CPU_INLINE void wide_body(const CpuRequantizeTo *to, const int32_t *sums, const float *factors,
    int64_t count, uint8_t *out) {
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) requantize_eight(to, sums + i, factors + i, out + i);
    if (i == count) return;
    int32_t last[8] = {0};
    float by[8] = {0};
    uint8_t bytes[8];
    memcpy(last, sums + i, (size_t)(count - i) * sizeof *last);
    memcpy(by, factors + i, (size_t)(count - i) * sizeof *by);
    requantize_eight(to, last, by, bytes);
    memcpy(out + i, bytes, (size_t)(count - i));
}
CPU_VARIANTS(wide,
    (const CpuRequantizeTo *to, const int32_t *sums, const float *factors, int64_t count,
        uint8_t *out),
    (to, sums, factors, count, out));

#if defined(__x86_64__)
/* The same by vectors of four, which the compiler's vectors of eight are taken apart for. */
CPU_TARGET_AVX2 static __m128i wide_four(__m128i sums, __m128 factors, __m256d low, __m256d high) {
    __m256d x = _mm256_mul_pd(_mm256_cvtepi32_pd(sums), _mm256_cvtps_pd(factors));
    x = _mm256_and_pd(x, _mm256_cmp_pd(x, x, _CMP_ORD_Q)); /* NaN is 0 */
    return _mm256_cvtpd_epi32(_mm256_min_pd(_mm256_max_pd(x, low), high));
}

CPU_TARGET_AVX2 static void wide_eights(const CpuRequantizeTo *to, const int32_t *sums,
    const float *factors, int64_t count, uint8_t *out) {
    const double least = (to->is_signed ? -128 : 0) - to->zero_point;
    const __m256d low = _mm256_set1_pd(least), high = _mm256_set1_pd(least + 255);
    const __m256i zero = _mm256_set1_epi32(to->zero_point);
    for (int64_t i = 0; i < count; i += EIGHT) {
        const __m256i there = first_lanes(count - i < EIGHT ? count - i : EIGHT);
        const __m256i from = _mm256_maskload_epi32(sums + i, there);
        const __m256 by = _mm256_maskload_ps(factors + i, there);
        const __m128i first =
            wide_four(_mm256_castsi256_si128(from), _mm256_castps256_ps128(by), low, high);
        const __m128i second =
            wide_four(_mm256_extracti128_si256(from, 1), _mm256_extractf128_ps(by, 1), low, high);
        const __m128i bytes = lowest_bytes(_mm256_add_epi32(_mm256_set_m128i(second, first), zero));
        const int64_t eight = _mm_cvtsi128_si64(bytes);
        memcpy(out + i, &eight, (size_t)(count - i < EIGHT ? count - i : EIGHT));
    }
}
#endif

CpuRequantizeWide *cpu_requantize_wide_for(CpuLevel level) {
#if defined(__x86_64__)
    if (level == CPU_LEVEL_AVX2) return wide_eights;
#endif
    return wide_for(level);
}
