#pragma once
/* exp, expm1, log, log1p: argument reduction and a polynomial, no tables, no library calls. Used by
 * the cpu's kernels and the CUDA kernels. Pure: no state.
 *
 * Polynomials are Chebyshev fits of the remainder after exact leading terms, computed with 60
 * digits. Errors against the exact value: exp, expm1, log below 1 ulp, log1p below 2 (checked by
 * tests/kernels/test_scalar_functors.c). */
#include "kernels/scalar/scalar_base.h"

/* ln 2 in two parts: the first times any exponent is exact. */
#define SCALAR_LN2_HIGH_F32 0x1.62e4p-1f
#define SCALAR_LN2_LOW_F32 0x1.7f7d1cp-20f
#define SCALAR_LN2_HIGH_F64 0x1.62e42feep-1
#define SCALAR_LN2_LOW_F64 0x1.a39ef35793c76p-33
/* Adding and subtracting this number rounds to an integer, which is then in the low bits. */
#define SCALAR_ROUNDER_F32 12582912.0f
#define SCALAR_ROUNDER_F64 6755399441055744.0

/* exp(x) = (1 + m) * 2^n with |m| < 0.42: m is expm1 of the reduced argument. */
typedef struct ScalarExpF32 {
    float m;
    int32_t n;
} ScalarExpF32;

typedef struct ScalarExpF64 {
    double m;
    int64_t n;
} ScalarExpF64;

SCALAR ScalarExpF32 scalar_exp_parts_f32(float x) {
    float shifted = x * 1.44269504f + SCALAR_ROUNDER_F32;
    float k = shifted - SCALAR_ROUNDER_F32;
    float r = (x - k * SCALAR_LN2_HIGH_F32) - k * SCALAR_LN2_LOW_F32;
    float q = 1.989103e-4f;
    q = q * r + 1.3933686e-3f;
    q = q * r + 8.3333105e-3f;
    q = q * r + 4.1666463e-2f;
    q = q * r + 1.6666667e-1f;
    q = q * r + 0.5f;
    ScalarExpF32 parts;
    parts.m = r + r * r * q;
    parts.n = (int32_t)(scalar_bits_f32(shifted) - scalar_bits_f32(SCALAR_ROUNDER_F32));
    return parts;
}

SCALAR ScalarExpF64 scalar_exp_parts_f64(double x) {
    double shifted = x * 0x1.71547652b82fep+0 + SCALAR_ROUNDER_F64;
    double k = shifted - SCALAR_ROUNDER_F64;
    double high = x - k * SCALAR_LN2_HIGH_F64;
    double low = k * SCALAR_LN2_LOW_F64;
    double r = high - low;
    double lost = (high - r) - low;
    double q = 0x1.1f731ea5352cap-29;
    q = q * r + 0x1.af4e196027428p-26;
    q = q * r + 0x1.27e4db57442fbp-22;
    q = q * r + 0x1.71de021a90822p-19;
    q = q * r + 0x1.a01a01a6dcaffp-16;
    q = q * r + 0x1.a01a01abef415p-13;
    q = q * r + 0x1.6c16c16c162ccp-10;
    q = q * r + 0x1.11111111100cep-7;
    q = q * r + 0x1.5555555555556p-5;
    q = q * r + 0x1.5555555555557p-3;
    q = q * r + 0.5;
    ScalarExpF64 parts;
    parts.m = r + (r * r * q + lost);
    parts.n = (int64_t)(scalar_bits_f64(shifted) - scalar_bits_f64(SCALAR_ROUNDER_F64));
    return parts;
}

/* (1 + m) * 2^n in two steps, so that subnormal results and 2^128 are reached. */
SCALAR float scalar_exp_join_f32(ScalarExpF32 parts) {
    int32_t half = parts.n >> 1;
    return (1.0f + parts.m) * scalar_pow2_f32(half) * scalar_pow2_f32(parts.n - half);
}

SCALAR double scalar_exp_join_f64(ScalarExpF64 parts) {
    /* AVX2 has no 64-bit arithmetic shift, so a non-negative number is shifted; unsigned, because n
     * is garbage for NaN */
    uint64_t n = (uint64_t)parts.n;
    uint64_t half = ((n + 4096) >> 1) - 2048;
    return (1.0 + parts.m) * scalar_pow2_f64((int64_t)half) * scalar_pow2_f64((int64_t)(n - half));
}

/* x where `mask` has ones. */
SCALAR float scalar_keep_f32(float x, uint32_t mask) {
    return scalar_make_f32(scalar_bits_f32(x) & mask);
}

/* e^x. Adding the rounder leaves n in the low bits of `shifted`, twice biased; 2^n is two factors,
 * so that subnormal results and 2^128 are reached. The polynomial is fitted to e^s with s within ln
 * 2 / 2. Below the bound the result is set to 0, not multiplied down to 0: products below the
 * normal range take processors ten times as long. */
SCALAR float scalar_exp_f32(float x) {
    const float rounder = SCALAR_ROUNDER_F32 + 254.0f;
    uint32_t kept = x < -104.0f ? 0 : UINT32_MAX;
    float c = scalar_keep_f32(scalar_at_most_f32(x, 89.0f), kept);
    float shifted = scalar_fma_f32(c, 1.44269504f, rounder);
    float k = shifted - rounder;
    float s = scalar_fma_f32(k, -SCALAR_LN2_LOW_F32, scalar_fma_f32(k, -SCALAR_LN2_HIGH_F32, c));
    float q = scalar_fma_f32(1.38638017e-3f, s, 8.36748444e-3f);
    q = scalar_fma_f32(q, s, 4.16672379e-2f);
    q = scalar_fma_f32(q, s, 1.66665345e-1f);
    q = scalar_fma_f32(q, s, 0.5f);
    q = scalar_fma_f32(q, s * s, s) + 1.0f;
    uint32_t bits = scalar_bits_f32(shifted), half = bits >> 1;
    float y = q * scalar_make_f32(half << 23) * scalar_make_f32((bits - half) << 23);
    return scalar_unless_nan_f32(scalar_keep_f32(y, kept), x);
}

/* As scalar_exp_f32. NaN passes both bounds. */
SCALAR double scalar_exp_f64(double x) {
    double c = x < -746.0 ? 0.0 : x;
    c = c > 710.0 ? 710.0 : c;
    double y = scalar_exp_join_f64(scalar_exp_parts_f64(c));
    return scalar_canonical_f64(x < -746.0 ? 0.0 : y);
}

/* exp(x) - 1 without cancellation. */
SCALAR float scalar_expm1_f32(float x) {
    float c = x < -20.0f ? -20.0f : x;
    c = c > 89.0f ? 89.0f : c;
    ScalarExpF32 parts = scalar_exp_parts_f32(c);
    float scale = scalar_pow2_f32(parts.n);
    float small = scale * parts.m + (scale - 1.0f);
    small = parts.n == 0 ? parts.m : small;
    float y = c > 40.0f ? scalar_exp_join_f32(parts) : small;
    return x == 0.0f ? x : scalar_canonical_f32(y);
}

SCALAR double scalar_expm1_f64(double x) {
    double c = x < -40.0 ? -40.0 : x;
    c = c > 710.0 ? 710.0 : c;
    ScalarExpF64 parts = scalar_exp_parts_f64(c);
    double scale = scalar_pow2_f64(parts.n);
    double small = scale * parts.m + (scale - 1.0);
    small = parts.n == 0 ? parts.m : small;
    double y = c > 80.0 ? scalar_exp_join_f64(parts) : small;
    return x == 0.0 ? x : scalar_canonical_f64(y);
}

/* log of a positive normal or subnormal number; any value for other arguments. */
SCALAR float scalar_log_positive_f32(float x) {
    float tiny = x < 0x1p-126f ? 1.0f : 0.0f;
    float scaled = x < 0x1p-126f ? x * 0x1p23f : x;
    uint32_t u = scalar_bits_f32(scaled) - 0x3F3504F3u; /* mantissa in [sqrt(1/2), sqrt(2)) */
    float e = (float)((int32_t)u >> 23) - 23.0f * tiny;
    float f = scalar_make_f32((u & 0x7FFFFFu) + 0x3F3504F3u) - 1.0f;
    float p = 6.9725186e-2f;
    p = p * f - 1.1481212e-1f;
    p = p * f + 1.1685785e-1f;
    p = p * f - 1.2425523e-1f;
    p = p * f + 1.4249007e-1f;
    p = p * f - 1.6667807e-1f;
    p = p * f + 2.0000717e-1f;
    p = p * f - 2.4999997e-1f;
    p = p * f + 3.333333e-1f;
    float z = f * f;
    float r = f * z * p + e * SCALAR_LN2_LOW_F32;
    return (f + (r - 0.5f * z)) + e * SCALAR_LN2_HIGH_F32;
}

SCALAR double scalar_log_positive_f64(double x) {
    double tiny = x < 0x1p-1022 ? 1.0 : 0.0;
    double scaled = x < 0x1p-1022 ? x * 0x1p54 : x;
    uint64_t u = scalar_bits_f64(scaled) - 0x3FE6A09E667F3BCDu;
    /* the exponent through a 32-bit conversion: vector units before AVX-512 have no other */
    double e = (double)(int32_t)((int32_t)(uint32_t)(u >> 32) >> 20) - 54.0 * tiny;
    double f = scalar_make_f64((u & 0xFFFFFFFFFFFFFu) + 0x3FE6A09E667F3BCDu) - 1.0;
    double s = f / (2.0 + f);
    double z = s * s;
    double p = 0x1.0c06909819a6bp-3;
    p = p * z + 0x1.0fbe4d81b5067p-3;
    p = p * z + 0x1.3b1c380e23544p-3;
    p = p * z + 0x1.745cf8f7d63a1p-3;
    p = p * z + 0x1.c71c72017790ap-3;
    p = p * z + 0x1.2492492476bb8p-2;
    p = p * z + 0x1.9999999999a38p-2;
    p = p * z + 0x1.5555555555555p-1;
    double half = 0.5 * f * f;
    double r = s * (half + z * p);
    return e * SCALAR_LN2_HIGH_F64 - ((half - (r + e * SCALAR_LN2_LOW_F64)) - f);
}

SCALAR float scalar_log_f32(float x) {
    float y = scalar_log_positive_f32(x);
    y = x == scalar_infinity_f32() ? x : y;
    y = x == 0.0f ? -scalar_infinity_f32() : y;
    return x >= 0.0f ? y : scalar_nan_f32();
}

SCALAR double scalar_log_f64(double x) {
    double y = scalar_log_positive_f64(x);
    y = x == scalar_infinity_f64() ? x : y;
    y = x == 0.0 ? -scalar_infinity_f64() : y;
    return x >= 0.0 ? y : scalar_nan_f64();
}

/* log(1 + x) without cancellation; the part that rounding 1 + x loses is added back to first
 * order. */
SCALAR float scalar_log1p_f32(float x) {
    float u = 1.0f + x;
    float lost = u == scalar_infinity_f32() ? 0.0f : (x - (u - 1.0f)) / u;
    float y = scalar_log_f32(u) + (u == 0.0f ? 0.0f : lost);
    return x == 0.0f ? x : scalar_canonical_f32(y);
}

SCALAR double scalar_log1p_f64(double x) {
    double u = 1.0 + x;
    double lost = u == scalar_infinity_f64() ? 0.0 : (x - (u - 1.0)) / u;
    double y = scalar_log_f64(u) + (u == 0.0 ? 0.0 : lost);
    return x == 0.0 ? x : scalar_canonical_f64(y);
}
