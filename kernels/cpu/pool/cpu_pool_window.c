#include "kernels/cpu/pool/cpu_pool_window.h"

#include "kernels/cpu/pool/cpu_pool_lanes.h"

/* Vectors that take each kernel position together: the steps of one do not wait for another's. */
enum { TOGETHER = 4 };

#define DEFINE_ROW(name, TARGET, Vector, LANES, ALL, LOAD, EVEN, STORE, COMBINE, start)            \
    TARGET CPU_INLINE void name##_vectors(                                                         \
        const CpuPlane *plane, const float *x, float *y, const int count) {                        \
        Vector results[TOGETHER];                                                                  \
        CPU_UNROLL                                                                                 \
        for (int v = 0; v < count; v++) results[v] = ALL(start);                                   \
        if (plane->stride == 1) {                                                                  \
            for (int64_t t = 0; t < plane->tap_count; t++) {                                       \
                const float *at = x + plane->taps[t];                                              \
                CPU_UNROLL                                                                         \
                for (int v = 0; v < count; v++)                                                    \
                    results[v] = COMBINE(results[v], LOAD(at + v * (LANES)));                      \
            }                                                                                      \
        } else {                                                                                   \
            for (int64_t t = 0; t < plane->tap_count; t++) {                                       \
                const float *at = x + plane->taps[t];                                              \
                CPU_UNROLL                                                                         \
                for (int v = 0; v < count; v++)                                                    \
                    results[v] = COMBINE(results[v], EVEN(at + v * (LANES)*plane->stride));        \
            }                                                                                      \
        }                                                                                          \
        CPU_UNROLL                                                                                 \
        for (int v = 0; v < count; v++) STORE(y + v * (LANES), results[v]);                        \
    }                                                                                              \
    TARGET static void name(const CpuPlane *plane, const float *x, float *y) {                     \
        int64_t i = 0;                                                                             \
        for (; i + (TOGETHER - 1) * (LANES) < plane->width; i += TOGETHER * (LANES))               \
            name##_vectors(plane, x + i * plane->stride, y + i, TOGETHER);                         \
        for (; i < plane->width; i += (LANES))                                                     \
            name##_vectors(plane, x + i * plane->stride, y + i, 1);                                \
    }                                                                                              \
    struct row_needs_semicolon

DEFINE_ROW(maxima_1, , float, 1, ALL_1, LOAD_1, LOAD_1, STORE_1, max_1, -__builtin_inff());
DEFINE_ROW(sums_1, , float, 1, ALL_1, LOAD_1, LOAD_1, STORE_1, sum_1, 0.0f);

#if defined(__x86_64__)
/* Loads x[0], x[2] … x[14] by two loads; the second one ends with the last needed element. */
CPU_TARGET_AVX2 CPU_INLINE __m256 even_8(const float *x) {
    const __m256 mixed =
        _mm256_shuffle_ps(_mm256_loadu_ps(x), _mm256_loadu_ps(x + 7), _MM_SHUFFLE(3, 1, 2, 0));
    return _mm256_castpd_ps(
        _mm256_permute4x64_pd(_mm256_castps_pd(mixed), _MM_SHUFFLE(3, 1, 2, 0)));
}
DEFINE_ROW(maxima_8, CPU_TARGET_AVX2, __m256, 8, _mm256_set1_ps, _mm256_loadu_ps, even_8,
    _mm256_storeu_ps, max_8, -__builtin_inff());
/* Of two numbers; the first stays where they are equal, as with max_8. */
CPU_TARGET_AVX2 CPU_INLINE __m256 number_max_8(__m256 a, __m256 b) { return _mm256_max_ps(b, a); }
DEFINE_ROW(number_maxima_8, CPU_TARGET_AVX2, __m256, 8, _mm256_set1_ps, _mm256_loadu_ps, even_8,
    _mm256_storeu_ps, number_max_8, -__builtin_inff());
DEFINE_ROW(sums_8, CPU_TARGET_AVX2, __m256, 8, _mm256_set1_ps, _mm256_loadu_ps, even_8,
    _mm256_storeu_ps, _mm256_add_ps, 0.0f);

CPU_TARGET_AVX512 CPU_INLINE __m512 even_16(const float *x) {
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
    return _mm512_permutex2var_ps(_mm512_loadu_ps(x), even, _mm512_loadu_ps(x + 15));
}
DEFINE_ROW(maxima_16, CPU_TARGET_AVX512, __m512, 16, _mm512_set1_ps, _mm512_loadu_ps, even_16,
    _mm512_storeu_ps, max_16, -__builtin_inff());
CPU_TARGET_AVX512 CPU_INLINE __m512 number_max_16(__m512 a, __m512 b) {
    return _mm512_max_ps(b, a);
}
DEFINE_ROW(number_maxima_16, CPU_TARGET_AVX512, __m512, 16, _mm512_set1_ps, _mm512_loadu_ps,
    even_16, _mm512_storeu_ps, number_max_16, -__builtin_inff());
DEFINE_ROW(sums_16, CPU_TARGET_AVX512, __m512, 16, _mm512_set1_ps, _mm512_loadu_ps, even_16,
    _mm512_storeu_ps, _mm512_add_ps, 0.0f);
#endif

CPU_INLINE void numbers_body(const float *x, int64_t count, bool *out) {
    int others = 0;
    for (int64_t i = 0; i < count; i++) others |= x[i] != x[i];
    *out = !others;
}
CPU_VARIANTS(numbers, (const float *x, int64_t count, bool *out), (x, count, out));

CpuPoolNumbers *cpu_pool_numbers_for(CpuLevel level) { return numbers_for(level); }

CpuPoolWindow *cpu_pool_window_for(CpuLevel level, CpuPoolCombine combine, int64_t stride) {
#if defined(__x86_64__)
    static CpuPoolWindow *const wide[][3] = {
        [CPU_LEVEL_AVX2] = {maxima_8, number_maxima_8, sums_8},
        [CPU_LEVEL_AVX512] = {maxima_16, number_maxima_16, sums_16},
    };
    if (level != CPU_LEVEL_PORTABLE && stride <= 2) return wide[level][combine];
#endif
    (void)level;
    (void)stride;
    return combine == CPU_POOL_SUM ? sums_1 : maxima_1;
}
