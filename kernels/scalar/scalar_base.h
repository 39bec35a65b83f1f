#pragma once
/* The base of all scalar functors: bit casts, powers of two, the canonical NaN. Used by the cpu's
 * kernels and the CUDA kernels. Pure: no state.
 *
 * Functors are straight-line code over exactly rounded operations (+ - * / sqrt, fused
 * multiply-adds where the source names them, conversions, integers), so that one source gives the
 * same bits in scalar and vector code, with any compiler that does not contract or reassociate, on
 * CPUs and GPUs alike. NaN rule: an operation that computes a NaN makes the canonical one (sign
 * clear, only the quiet bit); an operation that only selects, moves or changes a sign passes the
 * operand's NaN on. */
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define SCALAR static __host__ __device__ __forceinline__
#else
#define SCALAR static inline __attribute__((always_inline, unused))
#endif

SCALAR uint32_t scalar_bits_f32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

SCALAR float scalar_make_f32(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

SCALAR uint64_t scalar_bits_f64(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

SCALAR double scalar_make_f64(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

SCALAR float scalar_nan_f32(void) { return scalar_make_f32(0x7FC00000u); }
SCALAR double scalar_nan_f64(void) { return scalar_make_f64(0x7FF8000000000000u); }
SCALAR float scalar_infinity_f32(void) { return scalar_make_f32(0x7F800000u); }
SCALAR double scalar_infinity_f64(void) { return scalar_make_f64(0x7FF0000000000000u); }

/* a * b + c, rounded once. A processor without the instruction calls the C library, so only long
 * functions that models spend time in have it. */
SCALAR float scalar_fma_f32(float a, float b, float c) {
#ifdef __CUDACC__
    return fmaf(a, b, c);
#else
    return __builtin_fmaf(a, b, c);
#endif
}

/* Turns any NaN into the canonical one. */
SCALAR float scalar_canonical_f32(float x) { return x != x ? scalar_nan_f32() : x; }
SCALAR double scalar_canonical_f64(double x) { return x != x ? scalar_nan_f64() : x; }

/* Choices as bits: of a choice between floats compilers make two paths, and each vector takes both.
 * mask: all ones or all zeros. */
SCALAR float scalar_choose_f32(uint32_t mask, float yes, float no) {
    return scalar_make_f32((scalar_bits_f32(yes) & mask) | (scalar_bits_f32(no) & ~mask));
}
/* The lesser of x and `most` >= 0, as integers; a NaN gives `most` or itself. */
SCALAR float scalar_at_most_f32(float x, float most) {
    int32_t bits = (int32_t)scalar_bits_f32(x), end = (int32_t)scalar_bits_f32(most);
    return scalar_make_f32((uint32_t)(bits < end ? bits : end));
}
/* The greater of x and `least` < 0, as integers; a NaN gives `least` or itself. */
SCALAR float scalar_at_least_f32(float x, float least) {
    uint32_t bits = scalar_bits_f32(x), end = scalar_bits_f32(least);
    return scalar_make_f32(bits < end ? bits : end);
}
/* y; the canonical NaN where x is a NaN. */
SCALAR float scalar_unless_nan_f32(float y, float x) { return x != x ? scalar_nan_f32() : y; }

/* 2^n for -126 <= n <= 127; garbage, but no trap, otherwise. */
SCALAR float scalar_pow2_f32(int32_t n) { return scalar_make_f32(((uint32_t)n + 127u) << 23); }
/* 2^n for -1022 <= n <= 1023. */
SCALAR double scalar_pow2_f64(int64_t n) { return scalar_make_f64(((uint64_t)n + 1023u) << 52); }

SCALAR float scalar_abs_f32(float x) { return scalar_make_f32(scalar_bits_f32(x) & 0x7FFFFFFFu); }
SCALAR double scalar_abs_f64(double x) {
    return scalar_make_f64(scalar_bits_f64(x) & 0x7FFFFFFFFFFFFFFFu);
}
SCALAR float scalar_neg_f32(float x) { return scalar_make_f32(scalar_bits_f32(x) ^ 0x80000000u); }
SCALAR double scalar_neg_f64(double x) {
    return scalar_make_f64(scalar_bits_f64(x) ^ 0x8000000000000000u);
}
/* Magnitude of x with the sign of s. */
SCALAR float scalar_copy_sign_f32(float x, float s) {
    return scalar_make_f32((scalar_bits_f32(x) & 0x7FFFFFFFu) | (scalar_bits_f32(s) & 0x80000000u));
}
SCALAR double scalar_copy_sign_f64(double x, double s) {
    return scalar_make_f64(
        (scalar_bits_f64(x) & 0x7FFFFFFFFFFFFFFFu) | (scalar_bits_f64(s) & 0x8000000000000000u));
}
