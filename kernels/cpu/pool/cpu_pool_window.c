#include "kernels/cpu/pool/cpu_pool_window.h"

#include "kernels/cpu/pool/cpu_pool_lanes.h"

#define DEFINE_ROW(name, TARGET, Vector, LANES, ALL, LOAD, EVEN, STORE, COMBINE, start)            \
    TARGET static void name(const CpuPlane *plane, const float *x, float *y) {                     \
        for (int64_t i = 0; i < plane->width; i += (LANES)) {                                      \
            Vector result = ALL(start);                                                            \
            if (plane->stride == 1)                                                                \
                for (int64_t t = 0; t < plane->tap_count; t++)                                     \
                    result = COMBINE(result, LOAD(x + plane->taps[t] + i));                        \
            else                                                                                   \
                for (int64_t t = 0; t < plane->tap_count; t++)                                     \
                    result = COMBINE(result, EVEN(x + plane->taps[t] + i * plane->stride));        \
            STORE(y + i, result);                                                                  \
        }                                                                                          \
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
DEFINE_ROW(sums_8, CPU_TARGET_AVX2, __m256, 8, _mm256_set1_ps, _mm256_loadu_ps, even_8,
    _mm256_storeu_ps, _mm256_add_ps, 0.0f);

CPU_TARGET_AVX512 CPU_INLINE __m512 even_16(const float *x) {
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
    return _mm512_permutex2var_ps(_mm512_loadu_ps(x), even, _mm512_loadu_ps(x + 15));
}
DEFINE_ROW(maxima_16, CPU_TARGET_AVX512, __m512, 16, _mm512_set1_ps, _mm512_loadu_ps, even_16,
    _mm512_storeu_ps, max_16, -__builtin_inff());
DEFINE_ROW(sums_16, CPU_TARGET_AVX512, __m512, 16, _mm512_set1_ps, _mm512_loadu_ps, even_16,
    _mm512_storeu_ps, _mm512_add_ps, 0.0f);
#endif

CpuPoolWindow *cpu_pool_window_for(CpuLevel level, bool is_average, int64_t stride) {
#if defined(__x86_64__)
    if (level == CPU_LEVEL_AVX512 && stride <= 2) return is_average ? sums_16 : maxima_16;
    if (level == CPU_LEVEL_AVX2 && stride <= 2) return is_average ? sums_8 : maxima_8;
#endif
    (void)level;
    (void)stride;
    return is_average ? sums_1 : maxima_1;
}
