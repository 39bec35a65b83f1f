#pragma once
/* Plain arithmetic, rounding and activations on float32 and float64. Used by the cpu's kernels and
 * the CUDA kernels. Pure: no state.
 *
 * max, min: a NaN operand wins; of two equal operands the second. round: half to even. Attributes
 * arrive in the element type. */
#include <math.h>

#include "kernels/scalar/scalar_hyperbolic.h"
#include "kernels/scalar/scalar_power.h"

#define SCALAR_FLOAT(T, s, f, BIG)                                                                 \
    SCALAR T scalar_add_##s(T a, T b) { return scalar_canonical_##s(a + b); }                      \
    SCALAR T scalar_sub_##s(T a, T b) { return scalar_canonical_##s(a - b); }                      \
    SCALAR T scalar_mul_##s(T a, T b) { return scalar_canonical_##s(a * b); }                      \
    SCALAR T scalar_div_##s(T a, T b) { return scalar_canonical_##s(a / b); }                      \
    /* exact in every libm */                                                                      \
    SCALAR T scalar_fmod_##s(T a, T b) { return scalar_canonical_##s(fmod##f(a, b)); }             \
    SCALAR T scalar_mod_##s(T a, T b) {                                                            \
        T r = scalar_fmod_##s(a, b);                                                               \
        return r != (T)0 && (r < (T)0) != (b < (T)0) ? r + b : r;                                  \
    }                                                                                              \
    SCALAR T scalar_max_##s(T a, T b) { return a != a ? a : (a > b ? a : b); }                     \
    SCALAR T scalar_min_##s(T a, T b) { return a != a ? a : (a < b ? a : b); }                     \
    SCALAR T scalar_sign_##s(T x) {                                                                \
        T y = x > (T)0 ? (T)1 : (T)0;                                                              \
        y = x < (T)0 ? (T)-1 : y;                                                                  \
        return x != x ? x : y;                                                                     \
    }                                                                                              \
    SCALAR T scalar_sqrt_##s(T x) { return scalar_canonical_##s(__builtin_sqrt##f(x)); }           \
    SCALAR T scalar_reciprocal_##s(T x) { return scalar_canonical_##s((T)1 / x); }                 \
    /* adding and subtracting 2^23 (2^52) rounds what has a fraction */                            \
    SCALAR T scalar_round_##s(T x) {                                                               \
        T a = scalar_abs_##s(x);                                                                   \
        T r = (a + (T)BIG) - (T)BIG;                                                               \
        return a < (T)BIG ? scalar_copy_sign_##s(r, x) : x;                                        \
    }                                                                                              \
    SCALAR T scalar_floor_##s(T x) {                                                               \
        T r = scalar_round_##s(x);                                                                 \
        return scalar_copy_sign_##s(r > x ? r - (T)1 : r, x);                                      \
    }                                                                                              \
    SCALAR T scalar_ceil_##s(T x) {                                                                \
        T r = scalar_round_##s(x);                                                                 \
        return scalar_copy_sign_##s(r < x ? r + (T)1 : r, x);                                      \
    }                                                                                              \
    SCALAR T scalar_relu_##s(T x) { return x < (T)0 ? (T)0 : x; }                                  \
    /* canonical, because a compiler may multiply x by 1 where it is not negative */               \
    SCALAR T scalar_leaky_relu_##s(T x, T alpha) {                                                 \
        return scalar_canonical_##s(x < (T)0 ? alpha * x : x);                                     \
    }                                                                                              \
    SCALAR T scalar_elu_##s(T x, T alpha) {                                                        \
        return scalar_canonical_##s(x < (T)0 ? alpha * scalar_expm1_##s(x) : x);                   \
    }                                                                                              \
    SCALAR T scalar_selu_##s(T x, T alpha, T gamma) {                                              \
        return scalar_canonical_##s(gamma * (x > (T)0 ? x : alpha * scalar_expm1_##s(x)));         \
    }                                                                                              \
    SCALAR T scalar_celu_##s(T x, T alpha) {                                                       \
        return scalar_canonical_##s(x < (T)0 ? alpha * scalar_expm1_##s(x / alpha) : x);           \
    }                                                                                              \
    SCALAR T scalar_softsign_##s(T x) {                                                            \
        return scalar_canonical_##s(x / ((T)1 + scalar_abs_##s(x)));                               \
    }                                                                                              \
    SCALAR T scalar_swish_##s(T x, T alpha) {                                                      \
        return scalar_canonical_##s(scalar_swish_loose_##s(x, alpha));                             \
    }                                                                                              \
    SCALAR T scalar_swiglu_##s(T x, T y, T alpha) {                                                \
        return scalar_canonical_##s(scalar_swish_##s(x, alpha) * y);                               \
    }                                                                                              \
    SCALAR T scalar_thresholded_relu_##s(T x, T alpha) { return x > alpha ? x : (T)0; }            \
    SCALAR T scalar_shrink_##s(T x, T bias, T limit) {                                             \
        T y = x > limit ? x - bias : (T)0;                                                         \
        return scalar_canonical_##s(x < -limit ? x + bias : y);                                    \
    }                                                                                              \
    /* negative, positive: not 0 where infinity of that sign counts */                             \
    SCALAR int scalar_is_inf_##s(T x, T negative, T positive) {                                    \
        return (x == scalar_infinity_##s() && positive != (T)0) ||                                 \
               (x == -scalar_infinity_##s() && negative != (T)0);                                  \
    }                                                                                              \
    SCALAR T scalar_clip_##s(T x, T low, T high) {                                                 \
        T y = x < low ? low : x;                                                                   \
        return y > high ? high : y;                                                                \
    }                                                                                              \
    SCALAR T scalar_hard_sigmoid_##s(T x, T alpha, T beta) {                                       \
        return scalar_canonical_##s(scalar_clip_##s(alpha * x + beta, (T)0, (T)1));                \
    }                                                                                              \
    SCALAR T scalar_hard_swish_##s(T x) {                                                          \
        return scalar_canonical_##s(x * scalar_hard_sigmoid_##s(x, (T)1 / (T)6, (T)0.5));          \
    }                                                                                              \
    SCALAR T scalar_scaled_hard_swish_##s(T x, T alpha, T beta) {                                  \
        return scalar_canonical_##s(                                                               \
            x * scalar_hard_sigmoid_##s(x, (T)1 / (T)6, (T)0.5) * alpha + beta);                   \
    }                                                                                              \
    SCALAR T scalar_softplus_##s(T x) {                                                            \
        T positive = x > (T)0 ? x : (T)0;                                                          \
        T y = positive + scalar_log1p_##s(scalar_exp_##s(scalar_neg_##s(scalar_abs_##s(x))));      \
        return scalar_canonical_##s(y);                                                            \
    }                                                                                              \
    SCALAR T scalar_mish_##s(T x) {                                                                \
        return scalar_canonical_##s(x * scalar_tanh_##s(scalar_softplus_##s(x)));                  \
    }                                                                                              \
    SCALAR T scalar_gelu_erf_##s(T x) {                                                            \
        return scalar_canonical_##s(scalar_gelu_erf_loose_##s(x));                                 \
    }                                                                                              \
    SCALAR T scalar_gelu_tanh_##s(T x) {                                                           \
        return scalar_canonical_##s(scalar_gelu_tanh_loose_##s(x));                                \
    }

SCALAR_FLOAT(float, f32, f, 0x1p23)
SCALAR_FLOAT(double, f64, , 0x1p52)
