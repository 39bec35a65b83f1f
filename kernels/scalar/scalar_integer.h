#pragma once
/* Integer arithmetic without traps or undefined results: sums, products and negations wrap, x / 0
 * and x mod 0 are 0, MIN / -1 is MIN. Used by the cpu's loops and the CUDA kernels. Pure: no
 * state. */
#include <stdint.h>

#include "kernels/scalar/scalar_base.h"
#include "kernels/scalar/scalar_convert.h"

/* Small types compute in 32 bits (C's promotion), the rest in their own unsigned type. */
#define SCALAR_INTEGER(T, U, name)                                                                 \
    SCALAR T scalar_add_##name(T a, T b) { return (T)(U)((U)a + (U)b); }                           \
    SCALAR T scalar_sub_##name(T a, T b) { return (T)(U)((U)a - (U)b); }                           \
    SCALAR T scalar_mul_##name(T a, T b) { return (T)(U)((U)a * (U)b); }                           \
    SCALAR T scalar_max_##name(T a, T b) { return a > b ? a : b; }                                 \
    SCALAR T scalar_min_##name(T a, T b) { return a < b ? a : b; }                                 \
    SCALAR T scalar_relu_##name(T a) { return scalar_max_##name(a, 0); }                           \
    SCALAR T scalar_shift_left_##name(T a, T b) {                                                  \
        return (uint64_t)b < 8 * sizeof(T) ? (T)(U)((U)a << b) : (T)0;                             \
    }                                                                                              \
    /* a + b for a real b, exactly, then cut towards zero */                                       \
    SCALAR T scalar_add_real_##name(T a, double b) {                                               \
        const int64_t whole = scalar_f64_to_int64(b);                                              \
        const double rest = b - (double)whole, sum = (double)a + (double)whole;                    \
        const int64_t cut = (rest > 0 && sum < 0) - (rest < 0 && sum > 0);                         \
        return (T)(U)((uint64_t)a + (uint64_t)whole + (uint64_t)cut);                              \
    }                                                                                              \
    SCALAR T scalar_shrink_##name(T x, double bias, double limit) {                                \
        T y = (double)x > limit ? scalar_add_real_##name(x, -bias) : (T)0;                         \
        return (double)x < -limit ? scalar_add_real_##name(x, bias) : y;                           \
    }
#define SCALAR_SIGNED(T, U, name)                                                                  \
    SCALAR_INTEGER(T, U, name)                                                                     \
    SCALAR T scalar_neg_##name(T a) { return (T)(U)((U)0 - (U)a); }                                \
    SCALAR T scalar_abs_##name(T a) { return a < 0 ? scalar_neg_##name(a) : a; }                   \
    SCALAR T scalar_sign_##name(T a) { return (T)((a > 0) - (a < 0)); }                            \
    SCALAR T scalar_shift_right_##name(T a, T b) {                                                 \
        return (uint64_t)b < 8 * sizeof(T) ? (T)(a >> b) : (T)(a < 0 ? -1 : 0);                    \
    }                                                                                              \
    SCALAR T scalar_div_##name(T a, T b) {                                                         \
        if (b == 0) return 0;                                                                      \
        return b == -1 ? scalar_neg_##name(a) : (T)(a / b);                                        \
    }                                                                                              \
    /* sign of the dividend */                                                                     \
    SCALAR T scalar_fmod_##name(T a, T b) { return b == 0 || b == -1 ? (T)0 : (T)(a % b); }        \
    /* sign of the divisor */                                                                      \
    SCALAR T scalar_mod_##name(T a, T b) {                                                         \
        T r = scalar_fmod_##name(a, b);                                                            \
        return r != 0 && (r < 0) != (b < 0) ? (T)(r + b) : r;                                      \
    }                                                                                              \
    SCALAR T scalar_pow_##name(T a, int64_t b) {                                                   \
        return (T)(U)scalar_pow_integer((uint64_t)(int64_t)a, b);                                  \
    }
#define SCALAR_UNSIGNED(T, U, name)                                                                \
    SCALAR_INTEGER(T, U, name)                                                                     \
    SCALAR T scalar_neg_##name(T a) { return (T)((U)0 - (U)a); }                                   \
    SCALAR T scalar_abs_##name(T a) { return a; }                                                  \
    SCALAR T scalar_sign_##name(T a) { return (T)(a > 0); }                                        \
    SCALAR T scalar_shift_right_##name(T a, T b) {                                                 \
        return (uint64_t)b < 8 * sizeof(T) ? (T)(a >> b) : (T)0;                                   \
    }                                                                                              \
    SCALAR T scalar_div_##name(T a, T b) { return b == 0 ? (T)0 : (T)(a / b); }                    \
    SCALAR T scalar_fmod_##name(T a, T b) { return b == 0 ? (T)0 : (T)(a % b); }                   \
    SCALAR T scalar_mod_##name(T a, T b) { return scalar_fmod_##name(a, b); }                      \
    SCALAR T scalar_pow_##name(T a, int64_t b) { return (T)scalar_pow_integer((uint64_t)a, b); }

#include "kernels/scalar/scalar_power.h"

SCALAR_SIGNED(int8_t, uint32_t, int8)
SCALAR_SIGNED(int16_t, uint32_t, int16)
SCALAR_SIGNED(int32_t, uint32_t, int32)
SCALAR_SIGNED(int64_t, uint64_t, int64)
SCALAR_UNSIGNED(uint8_t, uint32_t, uint8)
SCALAR_UNSIGNED(uint16_t, uint32_t, uint16)
SCALAR_UNSIGNED(uint32_t, uint32_t, uint32)
SCALAR_UNSIGNED(uint64_t, uint64_t, uint64)
