#pragma once
/* float16 and bfloat16 to and from wider floats: round to nearest even, subnormals kept, NaN
 * becomes the canonical NaN when it is narrowed and a quiet one when it is widened. Used by the
 * cpu's kernels and the CUDA kernels. Pure: no state. */
#include "kernels/scalar/scalar_base.h"

SCALAR float scalar_widen_float16(uint16_t h) {
    uint32_t magnitude = h & 0x7FFFu;
    uint32_t normal = (magnitude << 13) + (112u << 23);
    uint32_t special = (magnitude << 13) | 0x7F800000u | (magnitude > 0x7C00u ? 0x400000u : 0u);
    uint32_t subnormal = scalar_bits_f32((float)(int32_t)magnitude * 0x1p-24f);
    uint32_t bits = magnitude < 0x400u ? subnormal : (magnitude >= 0x7C00u ? special : normal);
    return scalar_make_f32(bits | (uint32_t)(h & 0x8000u) << 16);
}

SCALAR uint16_t scalar_narrow_float16(float x) {
    uint32_t bits = scalar_bits_f32(x), magnitude = bits & 0x7FFFFFFFu;
    uint32_t normal = (magnitude + 0xFFFu + (magnitude >> 13 & 1u) - (112u << 23)) >> 13;
    /* adding 1/2 lines the subnormals' last bit up with float32's: the addition rounds */
    uint32_t subnormal = scalar_bits_f32(scalar_make_f32(magnitude) + 0.5f) - 0x3F000000u;
    uint32_t half = magnitude < 0x38800000u ? subnormal : normal;
    half = magnitude >= 0x477FF000u ? 0x7C00u : half;
    half |= bits >> 16 & 0x8000u;
    return (uint16_t)(magnitude > 0x7F800000u ? 0x7E00u : half);
}

SCALAR float scalar_widen_bfloat16(uint16_t h) {
    uint32_t bits = (uint32_t)h << 16;
    return scalar_make_f32(bits | ((bits & 0x7FFFFFFFu) > 0x7F800000u ? 0x400000u : 0u));
}

SCALAR uint16_t scalar_narrow_bfloat16(float x) {
    uint32_t bits = scalar_bits_f32(x);
    uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16;
    return (uint16_t)((bits & 0x7FFFFFFFu) > 0x7F800000u ? 0x7FC0u : rounded);
}

/* Narrows to float32 with the last bit set if the conversion was inexact: a second rounding to
 * fewer bits then gives the result of a single one. */
SCALAR float scalar_narrow_to_odd(double x) {
    float f = (float)x;
    double back = (double)f;
    uint32_t bits = scalar_bits_f32(f);
    uint32_t beyond = scalar_abs_f64(back) > scalar_abs_f64(x) ? 1u : 0u;
    /* NaN compares unequal too: setting its last bit keeps it a NaN */
    return scalar_make_f32(back == x ? bits : ((bits - beyond) | 1u));
}
