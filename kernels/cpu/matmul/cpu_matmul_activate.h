#pragma once
/* Activations of several vectors at once, for the ends of fused operators, with the bits of the
 * functors in kernels/scalar. Each step is taken for all vectors before the next one: a chain of
 * steps for one vector after the other fills the processor's queues with waiting ones (swish with
 * AVX-512: 15 cycles a vector, 7 with four at once and fused multiply-adds). Included by
 * cpu_matmul_epilogue.c. Pure: no state. */
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/cpu/core/cpu_vector.h"
#include "kernels/scalar/scalar_hyperbolic.h"

/* above, below: the limit where x is beyond it, else x, also for NaN. number: NaN becomes the
 * canonical one. Compilers make three instructions of a choice, where there is one. */
#if defined(__x86_64__)
CPU_TARGET_AVX2 CPU_INLINE CpuF32x8 cpu_f32x8_fma(CpuF32x8 a, CpuF32x8 b, CpuF32x8 c) {
    return _mm256_fmadd_ps(a, b, c);
}
CPU_TARGET_AVX512 CPU_INLINE CpuF32x16 cpu_f32x16_fma(CpuF32x16 a, CpuF32x16 b, CpuF32x16 c) {
    return _mm512_fmadd_ps(a, b, c);
}
CPU_INLINE CpuF32x4 cpu_f32x4_above(CpuF32x4 limit, CpuF32x4 x) { return _mm_max_ps(limit, x); }
CPU_INLINE CpuF32x4 cpu_f32x4_below(CpuF32x4 limit, CpuF32x4 x) { return _mm_min_ps(limit, x); }
CPU_TARGET_AVX2 CPU_INLINE CpuF32x8 cpu_f32x8_above(CpuF32x8 limit, CpuF32x8 x) {
    return _mm256_max_ps(limit, x);
}
CPU_TARGET_AVX2 CPU_INLINE CpuF32x8 cpu_f32x8_below(CpuF32x8 limit, CpuF32x8 x) {
    return _mm256_min_ps(limit, x);
}
CPU_TARGET_AVX2 CPU_INLINE CpuF32x8 cpu_f32x8_number(CpuF32x8 x) {
    const __m256 nan = _mm256_set1_ps(scalar_nan_f32());
    return _mm256_blendv_ps(x, nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}
CPU_TARGET_AVX512 CPU_INLINE CpuF32x16 cpu_f32x16_above(CpuF32x16 limit, CpuF32x16 x) {
    return _mm512_max_ps(limit, x);
}
CPU_TARGET_AVX512 CPU_INLINE CpuF32x16 cpu_f32x16_below(CpuF32x16 limit, CpuF32x16 x) {
    return _mm512_min_ps(limit, x);
}
CPU_TARGET_AVX512 CPU_INLINE CpuF32x16 cpu_f32x16_number(CpuF32x16 x) {
    const __m512 nan = _mm512_set1_ps(scalar_nan_f32());
    return _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), nan);
}
#else
CPU_INLINE CpuF32x4 cpu_f32x4_above(CpuF32x4 limit, CpuF32x4 x) { return cpu_f32x4_max(limit, x); }
CPU_INLINE CpuF32x4 cpu_f32x4_below(CpuF32x4 limit, CpuF32x4 x) { return cpu_f32x4_min(limit, x); }
#endif
CPU_INLINE CpuF32x4 cpu_f32x4_fma(CpuF32x4 a, CpuF32x4 b, CpuF32x4 c) {
    CPU_UNROLL for (int i = 0; i < 4; i++) c[i] = scalar_fma_f32(a[i], b[i], c[i]);
    return c;
}
CPU_INLINE CpuF32x4 cpu_f32x4_number(CpuF32x4 x) {
    const CpuF32x4 nan = scalar_nan_f32() + (CpuF32x4){0};
    return cpu_f32x4_select(x == x, x, nan);
}

#define CPU_EACH_VECTOR CPU_UNROLL for (int i = 0; i < count; i++)

#define CPU_GELU_STEP(name, e, o)                                                                  \
    CPU_EACH_VECTOR even[i] = name##_fma(even[i], z[i], (e)-zero);                                 \
    CPU_EACH_VECTOR odd[i] = name##_fma(odd[i], z[i], (o)-zero);

/* name: cpu_f32x4, cpu_f32x8, cpu_f32x16. x: count vectors, a constant; changed in place. */
#define CPU_DEFINE_ACTIVATE(name, TARGET, F32, I32)                                                \
    TARGET CPU_INLINE void name##_canonical(F32 *x, const int count) {                             \
        CPU_EACH_VECTOR x[i] = name##_number(x[i]);                                                \
    }                                                                                              \
    TARGET CPU_INLINE void name##_clip(F32 *x, const int count, float low, float high) {           \
        const F32 least = low - (F32){0}, most = high - (F32){0};                                  \
        CPU_EACH_VECTOR x[i] = name##_above(least, x[i]);                                          \
        CPU_EACH_VECTOR x[i] = name##_below(most, x[i]);                                           \
    }                                                                                              \
    TARGET CPU_INLINE void name##_hard_swish_loose(F32 *x, const int count) {                      \
        F32 y[CPU_ACTIVATE_MOST];                                                                  \
        CPU_EACH_VECTOR y[i] = x[i] * (1.0f / 6.0f) + 0.5f;                                        \
        name##_clip(y, count, 0, 1);                                                               \
        CPU_EACH_VECTOR x[i] = x[i] * y[i];                                                        \
    }                                                                                              \
    TARGET CPU_INLINE void name##_hard_swish(F32 *x, const int count) {                            \
        name##_hard_swish_loose(x, count);                                                         \
        name##_canonical(x, count);                                                                \
    }                                                                                              \
    TARGET CPU_INLINE void name##_scaled_hard_swish(                                               \
        F32 *x, const int count, float alpha, float beta) {                                        \
        name##_hard_swish_loose(x, count);                                                         \
        CPU_EACH_VECTOR x[i] = x[i] * alpha + beta;                                                \
        name##_canonical(x, count);                                                                \
    }                                                                                              \
    /* x / (1 + e^t); t is changed, too */                                                         \
    TARGET CPU_INLINE void name##_gated(F32 *x, F32 *t, const int count) {                         \
        const float rounder = SCALAR_ROUNDER_F32 + 127.0f;                                         \
        const F32 none = {0};                                                                      \
        F32 shifted[CPU_ACTIVATE_MOST], s[CPU_ACTIVATE_MOST];                                      \
        F32 z[CPU_ACTIVATE_MOST], q[CPU_ACTIVATE_MOST];                                            \
        name##_clip(t, count, SCALAR_SWISH_LEAST_F32, SCALAR_SWISH_MOST_F32);                      \
        CPU_EACH_VECTOR shifted[i] = name##_fma(t[i], 1.44269504f - none, rounder - none);         \
        CPU_EACH_VECTOR s[i] =                                                                     \
            name##_fma(shifted[i] - rounder, -SCALAR_LN2_HIGH_F32 - none, t[i]);                   \
        CPU_EACH_VECTOR s[i] = name##_fma(shifted[i] - rounder, -SCALAR_LN2_LOW_F32 - none, s[i]); \
        CPU_EACH_VECTOR z[i] = s[i] * s[i];                                                        \
        CPU_EACH_VECTOR q[i] = name##_fma(s[i], 8.37480556e-3f - none, 4.16677259e-2f - none);     \
        CPU_EACH_VECTOR q[i] = name##_fma(z[i], 1.38592592e-3f - none, q[i]);                      \
        CPU_EACH_VECTOR t[i] = name##_fma(s[i], 1.66664198e-1f - none, 0.49999994f - none);        \
        CPU_EACH_VECTOR q[i] = name##_fma(q[i], z[i], t[i]);                                       \
        CPU_EACH_VECTOR q[i] = name##_fma(q[i], z[i], s[i] + 1.0f);                                \
        CPU_EACH_VECTOR q[i] = name##_fma(q[i], (F32)((I32)shifted[i] << 23), 1.0f - none);        \
        CPU_EACH_VECTOR x[i] = x[i] / q[i];                                                        \
        name##_canonical(x, count);                                                                \
    }                                                                                              \
    TARGET CPU_INLINE void name##_swish(F32 *x, const int count, float alpha) {                    \
        F32 t[CPU_ACTIVATE_MOST];                                                                  \
        CPU_EACH_VECTOR t[i] = x[i] * -alpha;                                                      \
        name##_gated(x, t, count);                                                                 \
    }                                                                                              \
    TARGET CPU_INLINE void name##_gelu_tanh(F32 *x, const int count) {                             \
        const F32 zero = {0};                                                                      \
        F32 t[CPU_ACTIVATE_MOST];                                                                  \
        CPU_EACH_VECTOR t[i] = x[i] * x[i];                                                        \
        CPU_EACH_VECTOR t[i] =                                                                     \
            name##_fma(t[i], SCALAR_GELU_CUBIC_F32 - zero, SCALAR_GELU_LINEAR_F32 - zero);         \
        CPU_EACH_VECTOR t[i] = x[i] * t[i];                                                        \
        name##_gated(x, t, count);                                                                 \
    }                                                                                              \
    TARGET CPU_INLINE void name##_gelu_erf(F32 *x, const int count) {                              \
        const F32 zero = {0};                                                                      \
        F32 a[CPU_ACTIVATE_MOST], t[CPU_ACTIVATE_MOST], z[CPU_ACTIVATE_MOST];                      \
        F32 even[CPU_ACTIVATE_MOST], odd[CPU_ACTIVATE_MOST];                                       \
        CPU_EACH_VECTOR a[i] = (F32)((I32)x[i] & 0x7FFFFFFF);                                      \
        CPU_EACH_VECTOR t[i] = a[i] - SCALAR_GELU_MIDDLE_F32;                                      \
        CPU_EACH_VECTOR z[i] = t[i] * t[i];                                                        \
        CPU_EACH_VECTOR even[i] = SCALAR_GELU_EVEN_FIRST_F32 - zero;                               \
        CPU_EACH_VECTOR odd[i] = SCALAR_GELU_ODD_FIRST_F32 - zero;                                 \
        SCALAR_GELU_STEPS_F32(CPU_GELU_STEP, name)                                                 \
        CPU_EACH_VECTOR t[i] = a[i] * name##_fma(odd[i], t[i], even[i]);                           \
        CPU_EACH_VECTOR t[i] = (F32)((I32)t[i] & (a[i] < SCALAR_GELU_END_F32));                    \
        CPU_EACH_VECTOR x[i] = name##_above(zero, x[i]) - t[i];                                    \
        name##_canonical(x, count);                                                                \
    }                                                                                              \
    struct cpu_activate_needs_semicolon_##name

enum { CPU_ACTIVATE_MOST = 5 }; /* vectors */
