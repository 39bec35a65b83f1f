#pragma once
/* What the vector kernels of products with weights in blocks share: the sums of vectors. Included
 * by cpu_blocks_rows.c, cpu_blocks_tile.c, cpu_blocks_dot.c and cpu_blocks_dot_avx2.c. Pure: no
 * state. */
#include <immintrin.h>

#include "kernels/cpu/core/cpu_vector.h"

/* Keeps the compiler from reading an operand from memory for each of its uses. */
#define CPU_IN_REGISTER(value) __asm__("" : "+v"(value))

/* cpu_f32x16_sum of four vectors. */
CPU_TARGET_AVX512 CPU_INLINE __m128 cpu_blocks_sums_avx512(
    __m512 v0, __m512 v1, __m512 v2, __m512 v3) {
    const __m512 low =
        _mm512_add_ps(_mm512_shuffle_f32x4(v0, v1, 0x44), _mm512_shuffle_f32x4(v0, v1, 0xee));
    const __m512 high =
        _mm512_add_ps(_mm512_shuffle_f32x4(v2, v3, 0x44), _mm512_shuffle_f32x4(v2, v3, 0xee));
    __m512 all =
        _mm512_add_ps(_mm512_shuffle_f32x4(low, high, 0x88), _mm512_shuffle_f32x4(low, high, 0xdd));
    all = _mm512_add_ps(all, _mm512_permute_ps(all, 0x4e));
    all = _mm512_add_ps(all, _mm512_permute_ps(all, 0xb1));
    const __m512i firsts = _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    return _mm512_castps512_ps128(_mm512_permutexvar_ps(firsts, all));
}

/* cpu_f32x16_sum of two halves. */
CPU_TARGET_AVX2 CPU_INLINE float cpu_blocks_sum_avx2(__m256 low, __m256 high) {
    float lanes[CPU_VECTOR_LANES];
    _mm256_storeu_ps(lanes, low);
    _mm256_storeu_ps(lanes + CPU_HALF_LANES, high);
    return cpu_lanes_sum(lanes);
}

/* cpu_f32x16_sum of four pairs of halves. */
CPU_TARGET_AVX2 CPU_INLINE __m128 cpu_blocks_sums_avx2(const __m256 *low, const __m256 *high) {
    __m128 all[4], pairs[2];
    CPU_UNROLL for (int i = 0; i < 4; i++) {
        const __m256 lanes = _mm256_add_ps(low[i], high[i]);
        all[i] = _mm_add_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps(lanes, 1));
    }
    CPU_UNROLL for (int i = 0; i < 2; i++) pairs[i] = _mm_add_ps(
        _mm_unpacklo_ps(all[2 * i], all[2 * i + 1]), _mm_unpackhi_ps(all[2 * i], all[2 * i + 1]));
    return _mm_add_ps(_mm_movelh_ps(pairs[0], pairs[1]), _mm_movehl_ps(pairs[1], pairs[0]));
}

/* The sums of one vector, or of a multiple of four. */
CPU_TARGET_AVX512 CPU_INLINE void cpu_blocks_store_avx512(
    const __m512 *sums, int columns, float *to) {
    if (columns == 1) {
        float lanes[CPU_VECTOR_LANES];
        _mm512_storeu_ps(lanes, sums[0]);
        *to = cpu_lanes_sum(lanes);
    }
    CPU_UNROLL for (int c = 0; c + 4 <= columns; c += 4) _mm_storeu_ps(
        to + c, cpu_blocks_sums_avx512(sums[c], sums[c + 1], sums[c + 2], sums[c + 3]));
}
