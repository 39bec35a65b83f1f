#pragma once
/* The float forms of four and six bits, and FLOAT8E8M0, to and from float64, as ONNX defines them.
 * Used by the cpu's casts and by dtype_scalar.c. Pure: no state.
 *
 * FLOAT4E2M1, FLOAT6E2M3 and FLOAT6E3M2 have no infinities and no NaN. Narrowing rounds to nearest
 * even, once; overflow and infinities become the largest number of their sign, and NaN, which has
 * no code, -0. */
#include "kernels/scalar/scalar_base.h"

typedef enum ScalarSmallFloat {
    SCALAR_E2M1,
    SCALAR_E2M3,
    SCALAR_E3M2,
} ScalarSmallFloat;

SCALAR int32_t scalar_small_mantissa_bits(ScalarSmallFloat form) {
    const int32_t bits[3] = {1, 3, 2};
    return bits[form];
}
SCALAR int32_t scalar_small_bias(ScalarSmallFloat form) { return form == SCALAR_E3M2 ? 3 : 1; }
/* The form's sign bit; all bits below it are the largest number. */
SCALAR uint32_t scalar_small_sign(ScalarSmallFloat form) { return form == SCALAR_E2M1 ? 8u : 32u; }

SCALAR double scalar_widen_small(ScalarSmallFloat form, uint8_t code) {
    int32_t mantissa_bits = scalar_small_mantissa_bits(form);
    uint32_t magnitude = code & (scalar_small_sign(form) - 1u);
    int32_t exponent = (int32_t)(magnitude >> mantissa_bits);
    uint32_t fraction = magnitude & ((1u << mantissa_bits) - 1u);
    if (exponent > 0)
        fraction |= 1u << mantissa_bits;
    else
        exponent = 1;
    double value = (double)fraction *
                   scalar_pow2_f64((int64_t)exponent - scalar_small_bias(form) - mantissa_bits);
    return code & scalar_small_sign(form) ? -value : value;
}

SCALAR uint8_t scalar_narrow_small(ScalarSmallFloat form, double x) {
    int32_t mantissa_bits = scalar_small_mantissa_bits(form);
    int32_t least = 1 - scalar_small_bias(form) - mantissa_bits; /* log2 of the smallest number */
    uint32_t sign_bit = scalar_small_sign(form), most = sign_bit - 1u;
    uint32_t sign = scalar_bits_f64(x) >> 63 ? sign_bit : 0u;
    double a = scalar_abs_f64(x);
    if (a != a) return (uint8_t)sign_bit;
    if (a > 64.0) return (uint8_t)(most | sign);
    int32_t exponent = (int32_t)(scalar_bits_f64(a) >> 52) - 1023;
    int32_t unit = exponent - mantissa_bits < least ? least : exponent - mantissa_bits;
    double shifter = 0x1p52 * scalar_pow2_f64(unit);
    uint32_t steps = (uint32_t)(((a + shifter) - shifter) * scalar_pow2_f64(-unit));
    /* counting on from the unit's first code also carries into the exponent */
    uint32_t code = steps + ((uint32_t)(unit - least) << mantissa_bits);
    return (uint8_t)((code > most ? most : code) | sign);
}

/* FLOAT8E8M0 holds 2^(code - 127), and NaN as 255; it has no sign and no 0. */
typedef enum ScalarRoundMode {
    SCALAR_ROUND_UP,      /* away from 0 */
    SCALAR_ROUND_DOWN,    /* towards 0 */
    SCALAR_ROUND_NEAREST, /* halfway between two powers of two: up */
} ScalarRoundMode;

SCALAR double scalar_widen_e8m0(uint8_t code) {
    return code == 255 ? scalar_nan_f64() : scalar_pow2_f64((int64_t)code - 127);
}

/* Drops the sign. saturate: too large or infinite numbers become the largest number, too small ones
 * and 0 the smallest; without it both become NaN. */
SCALAR uint8_t scalar_narrow_e8m0(double x, ScalarRoundMode mode, int saturate) {
    double a = scalar_abs_f64(x);
    if (a != a) return 255;
    uint64_t bits = scalar_bits_f64(a);
    int32_t exponent = (int32_t)(bits >> 52) - 1023 + 127;
    uint64_t fraction = bits & 0xFFFFFFFFFFFFFu;
    if (a < 0x1p-127) return saturate ? 0 : 255;
    if (mode == SCALAR_ROUND_UP && fraction != 0) exponent++;
    if (mode == SCALAR_ROUND_NEAREST && fraction >= 0x8000000000000u) exponent++;
    if (exponent > 254) return saturate ? 254 : 255;
    return (uint8_t)exponent;
}
