#pragma once
/* The four float8 forms to and from float64, as ONNX's Cast defines them. Used by the casts of cpu
 * and CUDA and by dtype_scalar.c. Pure: no state.
 *
 * Narrowing rounds to nearest even, once. saturate: overflow and infinities become the largest
 * number of their sign; without it they become infinity if the form has one, else NaN. */
#include "kernels/scalar/scalar_base.h"

typedef enum ScalarFloat8 {
    SCALAR_E4M3FN,   /* S.1111.111 is NaN; no infinities */
    SCALAR_E4M3FNUZ, /* 0x80 is the only NaN; no infinities, no -0 */
    SCALAR_E5M2,     /* IEEE-like */
    SCALAR_E5M2FNUZ, /* as E4M3FNUZ */
} ScalarFloat8;

SCALAR int32_t scalar_float8_mantissa_bits(ScalarFloat8 form) {
    return form == SCALAR_E4M3FN || form == SCALAR_E4M3FNUZ ? 3 : 2;
}
SCALAR int32_t scalar_float8_bias(ScalarFloat8 form) {
    const int32_t biases[4] = {7, 8, 15, 16};
    return biases[form];
}
SCALAR uint32_t scalar_float8_max(ScalarFloat8 form) {
    const uint32_t codes[4] = {0x7E, 0x7F, 0x7B, 0x7F};
    return codes[form];
}
SCALAR uint32_t scalar_float8_nan(ScalarFloat8 form) {
    const uint32_t codes[4] = {0x7F, 0x80, 0x7F, 0x80};
    return codes[form];
}

SCALAR double scalar_widen_float8(ScalarFloat8 form, uint8_t code) {
    int32_t mantissa_bits = scalar_float8_mantissa_bits(form);
    uint32_t magnitude = code & 0x7Fu, sign = code >> 7;
    int nan = 0, infinite = 0;
    if (form == SCALAR_E4M3FN) nan = magnitude == 0x7Fu;
    if (form == SCALAR_E5M2) {
        nan = magnitude > 0x7Cu;
        infinite = magnitude == 0x7Cu;
    }
    if (form == SCALAR_E4M3FNUZ || form == SCALAR_E5M2FNUZ) nan = code == 0x80u;
    if (nan) return scalar_nan_f64();
    int32_t exponent = (int32_t)(magnitude >> mantissa_bits);
    uint32_t fraction = magnitude & ((1u << mantissa_bits) - 1u);
    if (exponent > 0)
        fraction |= 1u << mantissa_bits;
    else
        exponent = 1;
    double value = (double)fraction *
                   scalar_pow2_f64((int64_t)exponent - scalar_float8_bias(form) - mantissa_bits);
    if (infinite) value = scalar_infinity_f64();
    return sign ? -value : value;
}

SCALAR uint8_t scalar_narrow_float8(ScalarFloat8 form, double x, int saturate) {
    int32_t mantissa_bits = scalar_float8_mantissa_bits(form);
    int32_t least = 1 - scalar_float8_bias(form) - mantissa_bits; /* log2 of the smallest number */
    uint32_t sign = (uint32_t)(scalar_bits_f64(x) >> 63) << 7;
    int unsigned_zero = form == SCALAR_E4M3FNUZ || form == SCALAR_E5M2FNUZ;
    double a = scalar_abs_f64(x);
    if (a != a) return (uint8_t)scalar_float8_nan(form);
    uint32_t overflow = scalar_float8_nan(form);
    if (form == SCALAR_E4M3FN) overflow = 0x7Fu | sign;
    if (form == SCALAR_E5M2) overflow = 0x7Cu | sign;
    if (saturate) overflow = scalar_float8_max(form) | sign;
    if (a > 1e6) return (uint8_t)overflow;
    int32_t exponent = (int32_t)(scalar_bits_f64(a) >> 52) - 1023;
    int32_t unit = exponent - mantissa_bits < least ? least : exponent - mantissa_bits;
    double shifter = 0x1p52 * scalar_pow2_f64(unit);
    uint32_t steps = (uint32_t)(((a + shifter) - shifter) * scalar_pow2_f64(-unit));
    /* counting on from the unit's first code also carries into the exponent */
    uint32_t code = steps + ((uint32_t)(unit - least) << mantissa_bits);
    if (code > scalar_float8_max(form)) return (uint8_t)overflow;
    if (code == 0 && unsigned_zero) return 0;
    return (uint8_t)(code | sign);
}
