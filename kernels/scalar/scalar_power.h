#pragma once
/* pow. float32 through float64 (below 1 ulp, exact for squares and cubes); float64 through a
 * logarithm in two parts (below 2 ulp for moderate results, below 20 near overflow; squares and
 * cubes are products); integers wrap. Used by the cpu's kernels and the CUDA kernels. Pure: no
 * state.
 *
 * Special values as IEEE 754's pow. */
#include "kernels/scalar/scalar_exponential.h"
#include "kernels/scalar/scalar_trigonometric.h"

typedef struct ScalarParity {
    int is_integer, is_odd;
} ScalarParity;

SCALAR ScalarParity scalar_parity(double y) {
    double a = scalar_abs_f64(y);
    double c = a < 0x1p51 ? a : 0x1p51; /* from 2^53 on every number is even; 2^51..2^53 below */
    double shifted = c + 0x1p52;
    double k = shifted - 0x1p52;
    ScalarParity parity;
    parity.is_integer = k == c;
    parity.is_odd = parity.is_integer & (int)(scalar_bits_f64(shifted) & 1u);
    return parity;
}

SCALAR ScalarParity scalar_wide_parity(double y) {
    double a = scalar_abs_f64(y);
    double half = a * 0.5; /* exact; above 2^51 halves still show whether y is an integer */
    ScalarParity small = scalar_parity(y);
    int big = a >= 0x1p51;
    double c = big ? (half < 0x1p52 ? half : 0x1p52) : 0.0;
    double whole = (c + 0x1p52) - 0x1p52;
    /* 2^51 <= a < 2^53: a has at most one fraction bit below 2^52 */
    double units = (a + 0x1p52) - 0x1p52;
    ScalarParity parity;
    parity.is_integer = big ? (a >= 0x1p52 || units == a) : small.is_integer;
    parity.is_odd = big ? (a < 0x1p53 && parity.is_integer && whole != c) : small.is_odd;
    return parity;
}

/* Applies the sign and the special cases, given |x|^y. */
SCALAR double scalar_power_finish(double x, double y, double magnitude, ScalarParity parity) {
    double a = scalar_abs_f64(x);
    double r = magnitude;
    int zero_or_infinite = a == 0.0 || a == scalar_infinity_f64();
    double extreme = (a == 0.0) == (y > 0.0) ? 0.0 : scalar_infinity_f64();
    r = zero_or_infinite ? extreme : r;
    r = a == 1.0 ? 1.0 : r;
    int negative = (int)(scalar_bits_f64(x) >> 63);
    r = negative && parity.is_odd ? -r : r;
    int undefined = negative && !zero_or_infinite && !parity.is_integer;
    r = undefined || x != x || y != y ? scalar_nan_f64() : r;
    return y == 0.0 || x == 1.0 ? 1.0 : r;
}

SCALAR float scalar_cube_f32(float x) {
    double wide = (double)x; /* its square is exact */
    return scalar_canonical_f32((float)(wide * wide * wide));
}
SCALAR double scalar_cube_f64(double x) { return scalar_canonical_f64(x * x * x); }

SCALAR float scalar_pow_f32(float x, float y) {
    double a = scalar_abs_f64((double)x), e = (double)y;
    double r = scalar_exp_f64(e * scalar_log_positive_f64(a));
    r = scalar_power_finish((double)x, e, r, scalar_parity(e));
    float power = y == 2.0f ? scalar_canonical_f32(x * x) : scalar_canonical_f32((float)r);
    return y == 3.0f ? scalar_cube_f32(x) : power;
}

SCALAR double scalar_pow_f64(double x, double y) {
    double a = scalar_abs_f64(x);
    double tiny = a < 0x1p-1022 ? 1.0 : 0.0;
    double scaled = a < 0x1p-1022 ? a * 0x1p54 : a;
    uint64_t u = scalar_bits_f64(scaled) - 0x3FE6A09E667F3BCDu;
    double e = (double)(int32_t)((int32_t)(uint32_t)(u >> 32) >> 20) - 54.0 * tiny;
    double f = scalar_make_f64((u & 0xFFFFFFFFFFFFFu) + 0x3FE6A09E667F3BCDu) - 1.0;
    double d = 2.0 + f, d_low = f - (d - 2.0);
    double s = f / d;
    double product = s * d;
    double s_low = ((f - product) - scalar_multiply_low(s, d, product) - s * d_low) / d;
    double z = s * s;
    double p = 0x1.e6b5dfe5abc1ap-4;
    p = p * z + 0x1.debe2f8e57b0cp-4;
    p = p * z + 0x1.111d2b15cf6d3p-3;
    p = p * z + 0x1.3b137b1db863ap-3;
    p = p * z + 0x1.745d17d39d643p-3;
    p = p * z + 0x1.c71c71c64c0a5p-3;
    p = p * z + 0x1.249249249295dp-2;
    p = p * z + 0x1.9999999999998p-2;
    p = p * z + 0x1.5555555555555p-1;
    double big = e * SCALAR_LN2_HIGH_F64;
    double sum = big + 2.0 * s;
    double lost = e == 0.0 ? 0.0 : 2.0 * s - (sum - big); /* |big| > |2s| unless e is 0 */
    double tail = lost + (e * SCALAR_LN2_LOW_F64 + (2.0 * s_low + s * z * p));
    double logarithm = sum + tail, low = tail - (logarithm - sum);
    double c = scalar_abs_f64(y) > 0x1p65 ? scalar_copy_sign_f64(0x1p65, y) : y;
    double high = c * logarithm;
    double rest = scalar_multiply_low(c, logarithm, high) + c * low;
    int clamped = !(high > -750.0 && high < 710.0);
    double argument = high < -750.0 ? -750.0 : (high > 710.0 ? 710.0 : high);
    ScalarExpF64 parts = scalar_exp_parts_f64(argument);
    parts.m = clamped ? parts.m : parts.m + rest * (1.0 + parts.m);
    double r = scalar_exp_join_f64(parts);
    r = scalar_power_finish(x, y, r, scalar_wide_parity(y));
    r = y == 2.0 ? scalar_canonical_f64(x * x) : r;
    return y == 3.0 ? scalar_cube_f64(x) : r;
}

/* Wraps as multiplication does; negative exponents give 0, except for the bases 1 and -1 (the base
 * 0 gives 0). */
SCALAR uint64_t scalar_pow_integer(uint64_t base, int64_t exponent) {
    if (exponent < 0) {
        if (base == 1) return 1;
        if (base == UINT64_MAX) return exponent & 1 ? base : 1;
        return 0;
    }
    uint64_t result = 1;
    for (uint64_t left = (uint64_t)exponent; left; left >>= 1) {
        if (left & 1u) result *= base;
        base *= base;
    }
    return result;
}
