#pragma once
/* Sixteen floats at a time in GNU vectors, and functions over them whose bits are the same at every
 * instruction set: no fused multiply-add, fixed order. Included by the cpu's kernels. Pure: no
 * state.
 *
 * A kernel body is an always_inline function; CPU_VARIANTS compiles it once for each level, and
 * name_for(level) picks one. So the level changes only the speed. */
#include <stdint.h>
#include <string.h>

#include "base/sanitizers.h"
#include "kernels/cpu/core/cpu_internal.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi" /* the vector types never cross a real call */
#endif

enum { CPU_VECTOR_LANES = 16 };

typedef float CpuF32x16 __attribute__((vector_size(64)));
typedef float CpuF32x8 __attribute__((vector_size(32)));
typedef float CpuF32x4 __attribute__((vector_size(16)));
typedef int32_t CpuI32x16 __attribute__((vector_size(64)));
typedef int32_t CpuI32x8 __attribute__((vector_size(32)));
typedef int32_t CpuI32x4 __attribute__((vector_size(16)));
typedef double CpuF64x8 __attribute__((vector_size(64)));
typedef float CpuF32x8Unaligned __attribute__((vector_size(32), aligned(4), may_alias));
typedef float CpuF32x16Unaligned __attribute__((vector_size(64), aligned(4), may_alias));
typedef double CpuF64x8Unaligned __attribute__((vector_size(64), aligned(8), may_alias));

#define CPU_INLINE static inline __attribute__((always_inline))
#if defined(__x86_64__)
#define CPU_TARGET_AVX2 __attribute__((target("avx2,fma,f16c")))
#define CPU_TARGET_AVX512                                                                          \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")))
#define CPU_VARIANTS(name, parameters, arguments)                                                  \
    static void name##_portable parameters { name##_body arguments; }                              \
    CPU_TARGET_AVX2 static void name##_avx2 parameters { name##_body arguments; }                  \
    CPU_TARGET_AVX512 static void name##_avx512 parameters { name##_body arguments; }              \
    __attribute__((unused)) static void(*name##_for(CpuLevel level)) parameters {                  \
        if (level == CPU_LEVEL_AVX512) return name##_avx512;                                       \
        return level == CPU_LEVEL_AVX2 ? name##_avx2 : name##_portable;                            \
    }                                                                                              \
    struct cpu_variants_need_semicolon_##name
#else
#define CPU_VARIANTS(name, parameters, arguments)                                                  \
    static void name##_portable parameters { name##_body arguments; }                              \
    __attribute__((unused)) static void(*name##_for(CpuLevel level)) parameters {                  \
        (void)level;                                                                               \
        return name##_portable;                                                                    \
    }                                                                                              \
    struct cpu_variants_need_semicolon_##name
#endif

/* CPU_UNROLL: of loops over vectors. CPU_SPECIALISED: a function that is compiled once for each of
 * its constant arguments. A sanitizer checks every access, and without optimisation no copy gets
 * smaller: with either, a file of kernels would compile for minutes. */
#if BUILT_WITH_ADDRESS_SANITIZER || BUILT_WITH_THREAD_SANITIZER || !defined(__OPTIMIZE__)
#define CPU_SPECIALISED static __attribute__((noinline))
#define CPU_UNROLL
#else
#define CPU_SPECIALISED CPU_INLINE
#if defined(__clang__)
#define CPU_UNROLL _Pragma("unroll")
#else
#define CPU_UNROLL _Pragma("GCC unroll 32")
#endif
#endif

/* Loads four adjacent bytes as one word. */
CPU_INLINE int32_t cpu_word_load(const void *from) {
    int32_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

CPU_INLINE CpuF32x16 cpu_f32x16_load(const float *from) {
    return *(const CpuF32x16Unaligned *)from;
}
CPU_INLINE void cpu_f32x16_store(float *to, CpuF32x16 value) { *(CpuF32x16Unaligned *)to = value; }
CPU_INLINE CpuF32x16 cpu_f32x16_all(float value) { return value - (CpuF32x16){0}; }
CPU_INLINE CpuI32x16 cpu_i32x16_all(int32_t value) { return value - (CpuI32x16){0}; }

/* Copies `count` floats (0 … 15) in up to four pieces, each a move of one size. */
CPU_INLINE void cpu_f32_copy_part(float *to, const float *from, int64_t count) {
    if (count & 8) memcpy(to, from, 8 * sizeof *to);
    int64_t at = count & 8;
    if (count & 4) memcpy(to + at, from + at, 4 * sizeof *to);
    at += count & 4;
    if (count & 2) memcpy(to + at, from + at, 2 * sizeof *to);
    at += count & 2;
    if (count & 1) to[at] = from[at];
}
/* Loads the first `count` lanes; the others are `fill`. Above 16 all lanes, below 1 none. Halves,
 * which many rows end with, do not go through memory: loading a vector right after storing its
 * pieces stalls. */
CPU_INLINE CpuF32x16 cpu_f32x16_load_part(const float *from, int64_t count, float fill) {
    if (count >= CPU_VECTOR_LANES) return cpu_f32x16_load(from);
    if (count == CPU_VECTOR_LANES / 2) {
        const CpuF32x8 low = *(const CpuF32x8Unaligned *)from, high = fill - (CpuF32x8){0};
        return __builtin_shufflevector(
            low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    }
    float lanes[CPU_VECTOR_LANES];
    cpu_f32x16_store(lanes, cpu_f32x16_all(fill));
    if (count > 0) cpu_f32_copy_part(lanes, from, count);
    return cpu_f32x16_load(lanes);
}
CPU_INLINE void cpu_f32x16_store_part(float *to, int64_t count, CpuF32x16 value) {
    if (count >= CPU_VECTOR_LANES) {
        cpu_f32x16_store(to, value);
        return;
    }
    if (count == CPU_VECTOR_LANES / 2) {
        *(CpuF32x8Unaligned *)to = __builtin_shufflevector(value, value, 0, 1, 2, 3, 4, 5, 6, 7);
        return;
    }
    float lanes[CPU_VECTOR_LANES];
    cpu_f32x16_store(lanes, value);
    if (count > 0) cpu_f32_copy_part(to, lanes, count);
}

/* select: mask lanes are all ones or all zeros, as comparisons give them. max, min: if the
 * comparison is false, as with NaN, the second operand. */
#define CPU_DEFINE_CHOICE(name, F32, I32)                                                          \
    CPU_INLINE F32 name##_select(I32 mask, F32 yes, F32 no) {                                      \
        return (F32)((mask & (I32)yes) | (~mask & (I32)no));                                       \
    }                                                                                              \
    CPU_INLINE F32 name##_max(F32 a, F32 b) { return name##_select(a > b, a, b); }                 \
    CPU_INLINE F32 name##_min(F32 a, F32 b) { return name##_select(a < b, a, b); }                 \
    struct cpu_choice_needs_semicolon_##name
CPU_DEFINE_CHOICE(cpu_f32x16, CpuF32x16, CpuI32x16);
CPU_DEFINE_CHOICE(cpu_f32x8, CpuF32x8, CpuI32x8);
CPU_DEFINE_CHOICE(cpu_f32x4, CpuF32x4, CpuI32x4);

/* No lane is NaN. */
CPU_INLINE float cpu_f32x4_largest(CpuF32x4 v) {
    const float a = v[0] > v[2] ? v[0] : v[2], b = v[1] > v[3] ? v[1] : v[3];
    return a > b ? a : b;
}
CPU_INLINE float cpu_f32x8_largest(CpuF32x8 v) {
    const CpuF32x4 a = __builtin_shufflevector(v, v, 0, 1, 2, 3);
    const CpuF32x4 b = __builtin_shufflevector(v, v, 4, 5, 6, 7);
    return cpu_f32x4_largest(cpu_f32x4_max(a, b));
}
CPU_INLINE float cpu_f32x16_largest(CpuF32x16 v) {
    const CpuF32x8 a = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7);
    const CpuF32x8 b = __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
    return cpu_f32x8_largest(cpu_f32x8_max(a, b));
}

/* Adds the lanes in halves: a fixed order. */
CPU_INLINE float cpu_f32x16_sum(CpuF32x16 v) {
    const CpuF32x8 eight = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                           __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
    const CpuF32x4 four = __builtin_shufflevector(eight, eight, 0, 1, 2, 3) +
                          __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
    return (four[0] + four[2]) + (four[1] + four[3]);
}

/* e^x of x <= 0 within 2 units in the last place; 0 below -87.33, where the result would be no
 * normal number; NaN for NaN. Adding the rounder leaves the exponent of 2^n, with its bias of 127,
 * in the low bits. The polynomial is fitted to e^r with r within ln 2 / 2. */
#define CPU_DEFINE_EXP(name, F32, I32)                                                             \
    CPU_INLINE F32 name(F32 x) {                                                                   \
        const float rounder = 12582912.0f + 127.0f;                                                \
        const I32 below = x < -87.33f - (F32){0};                                                  \
        const F32 shifted = x * 1.44269504f + rounder;                                             \
        const F32 n = shifted - rounder;                                                           \
        const F32 r = x - n * 0.693359375f - n * -2.12194440e-4f;                                  \
        F32 p = 1.38592592e-3f * r + 8.37480556e-3f;                                               \
        p = p * r + 4.16677259e-2f;                                                                \
        p = p * r + 1.66664198e-1f;                                                                \
        p = p * r + 0.49999994f;                                                                   \
        p = p * r + 1.0f;                                                                          \
        p = (p * r + 1.0f) * (F32)((I32)shifted << 23);                                            \
        return (F32)(~below & (I32)p);                                                             \
    }                                                                                              \
    struct cpu_exp_needs_semicolon_##name
CPU_DEFINE_EXP(cpu_f32x16_exp, CpuF32x16, CpuI32x16);

/* ---- sixteen lanes in two vectors of eight ----
 *
 * Vectors wider than the instruction set's registers stay in memory and are moved in pieces: on
 * AVX2 that costs several times the work on the sixteen lanes. Bodies that many rows use are also
 * written in halves: name_halves_body gives the bits of name_body. */
#if defined(__x86_64__)
#define CPU_VARIANTS_HALVES(name, parameters, arguments)                                           \
    static void name##_portable parameters { name##_halves_body arguments; }                       \
    CPU_TARGET_AVX2 static void name##_avx2 parameters { name##_halves_body arguments; }           \
    CPU_TARGET_AVX512 static void name##_avx512 parameters { name##_body arguments; }              \
    static void(*name##_for(CpuLevel level)) parameters {                                          \
        if (level == CPU_LEVEL_AVX512) return name##_avx512;                                       \
        return level == CPU_LEVEL_AVX2 ? name##_avx2 : name##_portable;                            \
    }                                                                                              \
    struct cpu_variants_need_semicolon_##name
#else
#define CPU_VARIANTS_HALVES(name, parameters, arguments) CPU_VARIANTS(name, parameters, arguments)
#endif

/* Iterations do not depend on each other: the written memory is the read one, or does not overlap
 * it. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* clang warns where it optimises too little */
#define CPU_EACH_LANE(i, n)                                                                        \
    _Pragma("clang loop vectorize(assume_safety)") for (int64_t i = 0; i < (n); i++)
#else
#define CPU_EACH_LANE(i, n) _Pragma("GCC ivdep") for (int64_t i = 0; i < (n); i++)
#endif

enum { CPU_HALF_LANES = CPU_VECTOR_LANES / 2 };

CPU_INLINE CpuF32x8 cpu_f32x8_load(const float *from) { return *(const CpuF32x8Unaligned *)from; }
CPU_INLINE void cpu_f32x8_store(float *to, CpuF32x8 value) { *(CpuF32x8Unaligned *)to = value; }
CPU_DEFINE_EXP(cpu_f32x8_exp, CpuF32x8, CpuI32x8);

/* cpu_f32x16_sum of both halves. */
CPU_INLINE float cpu_f32x8_sum(CpuF32x8 low, CpuF32x8 high) {
    float lanes[CPU_HALF_LANES];
    cpu_f32x8_store(lanes, low + high);
    const float a = lanes[0] + lanes[4], b = lanes[1] + lanes[5];
    const float c = lanes[2] + lanes[6], d = lanes[3] + lanes[7];
    return (a + c) + (b + d);
}
/* cpu_f32x16_sum of what lies in memory. For functions compiled for another instruction set, which
 * clang lets pass no vector to one that is not. */
CPU_INLINE float cpu_lanes_sum(const float lanes[CPU_VECTOR_LANES]) {
    return cpu_f32x8_sum(cpu_f32x8_load(lanes), cpu_f32x8_load(lanes + CPU_HALF_LANES));
}
