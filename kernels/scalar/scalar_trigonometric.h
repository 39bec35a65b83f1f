#pragma once
/* sin, cos and tan of any finite number: reduction by pi/2 in three parts below 2^20, and above by
 * as many bits of 2/pi as the argument needs. Used by the cpu's kernels and the CUDA kernels. Pure:
 * no state.
 *
 * The fast functors are straight-line and valid for |x| < SCALAR_TRIGONOMETRIC_LIMIT; loops send
 * the rare larger arguments to the _large functors. tan of float32 and
 * the _large functors compute in float64. Error below 2 ulp (tan of float32: 1, of float64: 3). */
#include "kernels/scalar/scalar_base.h"

#define SCALAR_TRIGONOMETRIC_LIMIT 1048576.0

/* x = quadrant * pi/2 + (high + low), |high| <= pi/4. */
typedef struct ScalarAngle {
    double high, low;
    uint32_t quadrant; /* only its two low bits are used */
} ScalarAngle;

SCALAR ScalarAngle scalar_reduce_angle(double x) {
    double shifted = x * 0x1.45f306dc9c883p-1 + 6755399441055744.0;
    double k = shifted - 6755399441055744.0;
    double t = x - k * 0x1.921fb544p+0; /* exact: 33 and 20 bits */
    double w = k * 0x1.0b4611a6p-34;    /* exact */
    ScalarAngle angle;
    angle.high = t - w;
    angle.low = ((t - angle.high) - w) - k * 0x1.3198a2e037073p-69;
    angle.quadrant = (uint32_t)scalar_bits_f64(shifted);
    return angle;
}

SCALAR double scalar_sin_kernel(double x, double low) {
    double z = x * x;
    double p = -0x1.ab17a79237a19p-41;
    p = p * z + 0x1.61217ec01749dp-33;
    p = p * z - 0x1.ae64541266378p-26;
    p = p * z + 0x1.71de3a54605eep-19;
    p = p * z - 0x1.a01a01a019936p-13;
    p = p * z + 0x1.1111111111110p-7;
    double v = z * x;
    return x - ((z * (0.5 * low - v * p) - low) + v * 0x1.5555555555555p-3);
}

SCALAR double scalar_cos_kernel(double x, double low) {
    double z = x * x;
    double p = 0x1.ab783376962cfp-45;
    p = p * z - 0x1.9394b9c9c20a4p-37;
    p = p * z + 0x1.1eed8deb6d561p-29;
    p = p * z - 0x1.27e4fb7712bdfp-22;
    p = p * z + 0x1.a01a01a019d0ap-16;
    p = p * z - 0x1.6c16c16c16c16p-10;
    p = p * z + 0x1.5555555555555p-5;
    double half = 0.5 * z;
    double w = 1.0 - half;
    return w + (((1.0 - w) - half) + (z * z * p - x * low));
}

/* sin for phase 0, cos for phase 1. */
SCALAR double scalar_angle_value(ScalarAngle angle, uint32_t phase) {
    uint32_t quadrant = angle.quadrant + phase;
    double s = scalar_sin_kernel(angle.high, angle.low);
    double c = scalar_cos_kernel(angle.high, angle.low);
    double y = (quadrant & 1u) ? c : s;
    return scalar_make_f64(scalar_bits_f64(y) ^ ((uint64_t)(quadrant & 2u) << 62));
}

SCALAR double scalar_sin_fast_f64(double x) {
    double y = scalar_angle_value(scalar_reduce_angle(x), 0);
    return x == 0.0 ? x : scalar_canonical_f64(y);
}
SCALAR double scalar_cos_fast_f64(double x) {
    return scalar_canonical_f64(scalar_angle_value(scalar_reduce_angle(x), 1));
}
SCALAR double scalar_angle_tangent(ScalarAngle angle) {
    double s = scalar_sin_kernel(angle.high, angle.low);
    double c = scalar_cos_kernel(angle.high, angle.low);
    return (angle.quadrant & 1u) ? scalar_neg_f64(c) / s : s / c;
}
SCALAR double scalar_tan_fast_f64(double x) {
    double y = scalar_angle_tangent(scalar_reduce_angle(x));
    return x == 0.0 ? x : scalar_canonical_f64(y);
}
SCALAR float scalar_tan_fast_f32(float x) {
    return scalar_canonical_f32((float)scalar_tan_fast_f64((double)x));
}

/* In float32 pi/2 has three parts, too: the first difference is exact, the others are small. sin
 * for phase 0, cos for phase 1. */
SCALAR float scalar_angle_value_f32(float x, uint32_t phase) {
    float shifted = scalar_fma_f32(x, 0.636619772f, 12582912.0f);
    float k = shifted - 12582912.0f;
    float r = scalar_fma_f32(k, -0x1.921fb6p+0f, x);
    r = scalar_fma_f32(k, 0x1.777a5cp-25f, r);
    r = scalar_fma_f32(k, 0x1.ee59dap-50f, r);
    float z = r * r;
    float s = scalar_fma_f32(-1.95152694e-4f, z, 8.33216030e-3f);
    s = scalar_fma_f32(s, z, -1.66666552e-1f);
    s = scalar_fma_f32(s, r * z, r);
    float c = scalar_fma_f32(2.44331277e-5f, z, -1.38873165e-3f);
    c = scalar_fma_f32(c, z, 4.16666456e-2f);
    c = scalar_fma_f32(c, z, -0.5f);
    c = scalar_fma_f32(c, z, 1.0f);
    uint32_t quadrant = scalar_bits_f32(shifted) + phase;
    float y = scalar_choose_f32(0 - (quadrant & 1u), c, s);
    return scalar_make_f32(scalar_bits_f32(y) ^ (quadrant & 2u) << 30);
}
SCALAR float scalar_sin_fast_f32(float x) {
    float y = scalar_angle_value_f32(x, 0);
    return x == 0.0f ? x : scalar_canonical_f32(y);
}
SCALAR float scalar_cos_fast_f32(float x) {
    return scalar_canonical_f32(scalar_angle_value_f32(x, 1));
}

/* 64 bits of the fraction of 2/pi from bit `at` on (bit 0 weighs 1/2); zeros before it. */
SCALAR uint64_t scalar_two_over_pi(int32_t at) {
    const uint64_t words[20] = {0xa2f9836e4e441529u, 0xfc2757d1f534ddc0u, 0xdb6295993c439041u,
        0xfe5163abdebbc561u, 0xb7246e3a424dd2e0u, 0x06492eea09d1921cu, 0xfe1deb1cb129a73eu,
        0xe88235f52ebb4484u, 0xe99c7026b45f7e41u, 0x3991d639835339f4u, 0x9c845f8bbdf9283bu,
        0x1ff897ffde05980fu, 0xef2f118b5a0a6d1fu, 0x6d367ecf27cb09b7u, 0x4f463f669e5fea2du,
        0x7527bac7ebe5f17bu, 0x3d0739f78a5292eau, 0x6bfb5fb11f8d5d08u, 0x56033046fc7b6babu,
        0xf0cfbc209af4361du};
    int32_t from = at + 64; /* never negative: at >= -62 */
    uint32_t word = (uint32_t)from / 64u, shift = (uint32_t)from % 64u;
    uint64_t high = word == 0 ? 0 : words[word - 1];
    return shift == 0 ? high : high << shift | words[word] >> (64u - shift);
}

/* a * b = high + low exactly (Dekker), for magnitudes around 1. */
SCALAR double scalar_multiply_low(double a, double b, double product) {
    double a_high = scalar_make_f64(scalar_bits_f64(a) & 0xFFFFFFFFF8000000u), a_low = a - a_high;
    double b_high = scalar_make_f64(scalar_bits_f64(b) & 0xFFFFFFFFF8000000u), b_low = b - b_high;
    return ((a_high * b_high - product) + (a_high * b_low + a_low * b_high)) + a_low * b_low;
}

/* Reduces finite |x| >= 2^20: x * 2/pi modulo 4 in 192 bits. */
SCALAR ScalarAngle scalar_reduce_large_angle(double x) {
    uint64_t bits = scalar_bits_f64(x);
    int32_t exponent = (int32_t)(bits >> 52 & 0x7FFu) - 1075;
    uint64_t m = (bits & 0xFFFFFFFFFFFFFu) | 0x10000000000000u;
    uint64_t w0 = scalar_two_over_pi(exponent - 2), w1 = scalar_two_over_pi(exponent + 62),
             w2 = scalar_two_over_pi(exponent + 126);
    unsigned __int128 low = (unsigned __int128)m * w2;
    unsigned __int128 middle = (unsigned __int128)m * w1 + (uint64_t)(low >> 64);
    uint64_t p0 = m * w0 + (uint64_t)(middle >> 64), p1 = (uint64_t)middle, p2 = (uint64_t)low;
    uint32_t quadrant = (uint32_t)(p0 >> 62);
    uint64_t f0 = p0 << 2 | p1 >> 62, f1 = p1 << 2 | p2 >> 62; /* the fraction, 128 bits */
    uint64_t negative = f0 >> 63;                              /* at least 1/2: from above */
    quadrant += (uint32_t)negative;
    unsigned __int128 fraction = (unsigned __int128)f0 << 64 | f1;
    if (negative) fraction = -fraction;
    double f_high = (double)(uint64_t)(fraction >> 75) * 0x1p-53;
    double f_low = (double)(uint64_t)(fraction >> 11 & 0xFFFFFFFFFFFFFFFFu) * 0x1p-117;
    double f = f_high + f_low;
    f_low = f_low - (f - f_high);
    double high = f * 0x1.921fb54442d18p+0;
    double rest = scalar_multiply_low(f, 0x1.921fb54442d18p+0, high) +
                  (f * 0x1.1a62633145c07p-54 + f_low * 0x1.921fb54442d18p+0);
    ScalarAngle angle;
    angle.high = high + rest;
    angle.low = rest - (angle.high - high);
    angle.quadrant = quadrant;
    uint64_t flip = (negative << 63) ^ (bits & 0x8000000000000000u);
    angle.high = scalar_make_f64(scalar_bits_f64(angle.high) ^ flip);
    angle.low = scalar_make_f64(scalar_bits_f64(angle.low) ^ flip);
    if (bits >> 63) angle.quadrant = 0u - quadrant;
    return angle;
}

/* For |x| >= SCALAR_TRIGONOMETRIC_LIMIT, infinities (NaN) and NaN. */
SCALAR double scalar_sin_large_f64(double x) {
    if (!(scalar_abs_f64(x) < scalar_infinity_f64())) return scalar_nan_f64();
    return scalar_angle_value(scalar_reduce_large_angle(x), 0);
}
SCALAR double scalar_cos_large_f64(double x) {
    if (!(scalar_abs_f64(x) < scalar_infinity_f64())) return scalar_nan_f64();
    return scalar_angle_value(scalar_reduce_large_angle(x), 1);
}
SCALAR double scalar_tan_large_f64(double x) {
    if (!(scalar_abs_f64(x) < scalar_infinity_f64())) return scalar_nan_f64();
    return scalar_angle_tangent(scalar_reduce_large_angle(x));
}
SCALAR double scalar_sin_f64(double x) {
    return scalar_abs_f64(x) < SCALAR_TRIGONOMETRIC_LIMIT ? scalar_sin_fast_f64(x)
                                                          : scalar_sin_large_f64(x);
}
SCALAR double scalar_cos_f64(double x) {
    return scalar_abs_f64(x) < SCALAR_TRIGONOMETRIC_LIMIT ? scalar_cos_fast_f64(x)
                                                          : scalar_cos_large_f64(x);
}
SCALAR double scalar_tan_f64(double x) {
    return scalar_abs_f64(x) < SCALAR_TRIGONOMETRIC_LIMIT ? scalar_tan_fast_f64(x)
                                                          : scalar_tan_large_f64(x);
}
SCALAR float scalar_sin_f32(float x) {
    return scalar_abs_f32(x) < (float)SCALAR_TRIGONOMETRIC_LIMIT
               ? scalar_sin_fast_f32(x)
               : (float)scalar_sin_large_f64((double)x);
}
SCALAR float scalar_cos_f32(float x) {
    return scalar_abs_f32(x) < (float)SCALAR_TRIGONOMETRIC_LIMIT
               ? scalar_cos_fast_f32(x)
               : (float)scalar_cos_large_f64((double)x);
}
SCALAR float scalar_tan_f32(float x) { return (float)scalar_tan_f64((double)x); }
