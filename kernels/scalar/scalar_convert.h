#pragma once
/* Conversions between element types as Cast does them. Used by the cpu's kernels and the CUDA
 * kernels. Pure: no state.
 *
 * Float to integer truncates; beyond the range it saturates; NaN is 0. Integer to integer wraps.
 * Integer to float rounds to nearest even, once. To bool: whether the element is not zero (NaN is
 * not). */
#include "kernels/scalar/scalar_half.h"

/* LEAST, BEYOND: the type's minimum and maximum + 1, exact as floats. */
#define SCALAR_TRUNCATE(F, s, T, name, LEAST, BEYOND, MIN, MAX)                                    \
    SCALAR T scalar_##s##_to_##name(F x) {                                                         \
        F c = x >= (F)LEAST ? x : (F)LEAST;                                                        \
        c = x < (F)BEYOND ? c : (F)0;                                                              \
        T y = (T)c;                                                                                \
        y = x >= (F)BEYOND ? MAX : y;                                                              \
        return x != x ? (T)0 : y;                                                                  \
    }
#define SCALAR_TRUNCATES(F, s)                                                                     \
    SCALAR_TRUNCATE(F, s, int8_t, int8, -128, 128, INT8_MIN, INT8_MAX)                             \
    SCALAR_TRUNCATE(F, s, int16_t, int16, -32768, 32768, INT16_MIN, INT16_MAX)                     \
    SCALAR_TRUNCATE(F, s, int32_t, int32, -0x1p31, 0x1p31, INT32_MIN, INT32_MAX)                   \
    SCALAR_TRUNCATE(F, s, int64_t, int64, -0x1p63, 0x1p63, INT64_MIN, INT64_MAX)                   \
    SCALAR_TRUNCATE(F, s, uint8_t, uint8, 0, 256, 0, UINT8_MAX)                                    \
    SCALAR_TRUNCATE(F, s, uint16_t, uint16, 0, 65536, 0, UINT16_MAX)                               \
    SCALAR_TRUNCATE(F, s, uint32_t, uint32, 0, 0x1p32, 0, UINT32_MAX)                              \
    SCALAR_TRUNCATE(F, s, uint64_t, uint64, 0, 0x1p64, 0, UINT64_MAX)
SCALAR_TRUNCATES(float, f32)
SCALAR_TRUNCATES(double, f64)

/* Makes a double that rounds to 24 or fewer bits as the integer itself would. */
SCALAR double scalar_int64_to_sticky(int64_t x) {
    uint64_t a = x < 0 ? 0u - (uint64_t)x : (uint64_t)x;
    uint64_t lost = a & 0x7FFu;
    a = a >> 53 ? (a & ~(uint64_t)0x7FFu) | (lost ? 0x800u : 0u) : a;
    return x < 0 ? -(double)a : (double)a;
}
SCALAR double scalar_uint64_to_sticky(uint64_t x) {
    uint64_t lost = x & 0x7FFu;
    return (double)(x >> 53 ? (x & ~(uint64_t)0x7FFu) | (lost ? 0x800u : 0u) : x);
}
