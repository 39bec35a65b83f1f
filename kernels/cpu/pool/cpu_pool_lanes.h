#pragma once
/* Combines elements of pools, by 1, 8 or 16 lanes: sums, and maxima in which a NaN wins, then the
 * larger one, then the first. gcc turns comparisons of 16 lanes in plain C into 16 branches, so
 * each level has its own code here. Included by the pools that work on channels or windows. Pure:
 * no state. */
#include "kernels/cpu/core/cpu_vector.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

CPU_INLINE float max_1(float a, float b) { return b > a || b != b ? b : a; }
CPU_INLINE float sum_1(float a, float b) { return a + b; }
#define ALL_1(value) (value)
#define LOAD_1(from) (*(from))
#define STORE_1(to, value) (*(to) = (value))

#if defined(__x86_64__)
CPU_TARGET_AVX2 CPU_INLINE __m256 max_8(__m256 a, __m256 b) {
    const __m256 takes =
        _mm256_or_ps(_mm256_cmp_ps(b, a, _CMP_GT_OQ), _mm256_cmp_ps(b, b, _CMP_UNORD_Q));
    return _mm256_blendv_ps(a, b, takes);
}
CPU_TARGET_AVX512 CPU_INLINE __m512 max_16(__m512 a, __m512 b) {
    const __mmask16 takes =
        _mm512_cmp_ps_mask(b, a, _CMP_GT_OQ) | _mm512_cmp_ps_mask(b, b, _CMP_UNORD_Q);
    return _mm512_mask_mov_ps(a, takes, b);
}
#endif
