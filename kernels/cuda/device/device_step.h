#pragma once
/* One step of a pointwise program, on several elements at a time: the functors of kernels/scalar,
 * so that every element has the bits that the cpu computes. Included by the pointwise and LSTM
 * kernels; runs on the GPU. */
#include "kernels/cuda/device/device_cast.h"
#include "kernels/scalar/scalar_float.h"
#include "kernels/scalar/scalar_integer.h"
#include "kernels/scalar/scalar_inverse.h"

enum { LANES = CUDA_POINTWISE_LANES };

typedef struct StepLanes {
    uint64_t bits[LANES];
} StepLanes;

/* The short functors, of operands x, y and z. */
#define STEP_SHORT_FLOATS(CASE, T, s, x, y, z)                                                     \
    CASE(ADD, scalar_add_##s(x, y))                                                                \
    CASE(SUB, scalar_sub_##s(x, y))                                                                \
    CASE(MUL, scalar_mul_##s(x, y))                                                                \
    CASE(DIV, scalar_div_##s(x, y))                                                                \
    CASE(MAX, scalar_max_##s(x, y))                                                                \
    CASE(MIN, scalar_min_##s(x, y))                                                                \
    CASE(PRELU, scalar_leaky_relu_##s(x, y))                                                       \
    CASE(EQUAL, (T)(x == y))                                                                       \
    CASE(LESS, (T)(x < y))                                                                         \
    CASE(LESS_OR_EQUAL, (T)(x <= y))                                                               \
    CASE(CLIP, scalar_clip_##s(x, y, z))                                                           \
    CASE(NEG, scalar_neg_##s(x))                                                                   \
    CASE(ABS, scalar_abs_##s(x))                                                                   \
    CASE(SIGN, scalar_sign_##s(x))                                                                 \
    CASE(SQRT, scalar_sqrt_##s(x))                                                                 \
    CASE(RECIPROCAL, scalar_reciprocal_##s(x))                                                     \
    CASE(RELU, scalar_relu_##s(x))                                                                 \
    CASE(LEAKY_RELU, scalar_leaky_relu_##s(x, alpha))                                              \
    CASE(HARD_SIGMOID, scalar_hard_sigmoid_##s(x, alpha, beta))                                    \
    CASE(HARD_SWISH, scalar_hard_swish_##s(x))                                                     \
    CASE(FLOOR, scalar_floor_##s(x))                                                               \
    CASE(CEIL, scalar_ceil_##s(x))                                                                 \
    CASE(ROUND, scalar_round_##s(x))                                                               \
    CASE(IS_NAN, (T)(x != x))                                                                      \
    CASE(IS_INF, (T)scalar_is_inf_##s(x, alpha, beta))                                             \
    CASE(SHRINK, scalar_shrink_##s(x, y, z))                                                       \
    CASE(SOFTSIGN, scalar_softsign_##s(x))                                                         \
    CASE(THRESHOLDED_RELU, scalar_thresholded_relu_##s(x, alpha))

#define STEP_LONG_FLOATS(CASE, s, x, y)                                                            \
    CASE(MOD, scalar_mod_##s(x, y))                                                                \
    CASE(FMOD, scalar_fmod_##s(x, y))                                                              \
    CASE(POW, scalar_pow_##s(x, y))                                                                \
    CASE(EXP, scalar_exp_##s(x))                                                                   \
    CASE(LOG, scalar_log_##s(x))                                                                   \
    CASE(SIN, scalar_sin_##s(x))                                                                   \
    CASE(COS, scalar_cos_##s(x))                                                                   \
    CASE(ERF, scalar_erf_##s(x))                                                                   \
    CASE(TANH, scalar_tanh_##s(x))                                                                 \
    CASE(SIGMOID, scalar_sigmoid_##s(x))                                                           \
    CASE(ELU, scalar_elu_##s(x, alpha))                                                            \
    CASE(SELU, scalar_selu_##s(x, alpha, beta))                                                    \
    CASE(GELU_ERF, scalar_gelu_erf_##s(x))                                                         \
    CASE(GELU_TANH, scalar_gelu_tanh_##s(x))                                                       \
    CASE(SOFTPLUS, scalar_softplus_##s(x))                                                         \
    CASE(CELU, scalar_celu_##s(x, alpha))                                                          \
    CASE(MISH, scalar_mish_##s(x))                                                                 \
    CASE(SWISH, scalar_swish_##s(x, alpha))                                                        \
    CASE(SWIGLU, scalar_swiglu_##s(x, y, alpha))                                                   \
    CASE(TAN, scalar_tan_##s(x))                                                                   \
    CASE(ASIN, scalar_asin_##s(x))                                                                 \
    CASE(ACOS, scalar_acos_##s(x))                                                                 \
    CASE(ATAN, scalar_atan_##s(x))                                                                 \
    CASE(SINH, scalar_sinh_##s(x))                                                                 \
    CASE(COSH, scalar_cosh_##s(x))                                                                 \
    CASE(ASINH, scalar_asinh_##s(x))                                                               \
    CASE(ACOSH, scalar_acosh_##s(x))                                                               \
    CASE(ATANH, scalar_atanh_##s(x))

/* Integers: narrow ones are computed in 64 bits and cut, as what wraps comes to the same. */
#define STEP_INTEGERS(CASE, name, dtype, x, y, z)                                                  \
    CASE(ADD, (uint64_t)scalar_add_##name(x, y))                                                   \
    CASE(SUB, (uint64_t)scalar_sub_##name(x, y))                                                   \
    CASE(MUL, (uint64_t)scalar_mul_##name(x, y))                                                   \
    CASE(DIV, (uint64_t)scalar_div_##name(x, y))                                                   \
    CASE(MOD, (uint64_t)scalar_mod_##name(x, y))                                                   \
    CASE(FMOD, (uint64_t)scalar_fmod_##name(x, y))                                                 \
    CASE(MAX, (uint64_t)scalar_max_##name(x, y))                                                   \
    CASE(MIN, (uint64_t)scalar_min_##name(x, y))                                                   \
    CASE(PRELU, (uint64_t)step_prelu_##name(x, y))                                                 \
    CASE(EQUAL, (uint64_t)(x == y))                                                                \
    CASE(LESS, (uint64_t)(x < y))                                                                  \
    CASE(LESS_OR_EQUAL, (uint64_t)(x <= y))                                                        \
    CASE(NEG, (uint64_t)scalar_neg_##name(x))                                                      \
    CASE(ABS, (uint64_t)scalar_abs_##name(x))                                                      \
    CASE(SIGN, (uint64_t)scalar_sign_##name(x))                                                    \
    CASE(RELU, (uint64_t)scalar_max_##name(x, 0))                                                  \
    CASE(CLIP, (uint64_t)(x < y ? (y > z ? z : y) : (x > z ? z : x)))                              \
    CASE(BIT_NOT, (uint64_t)~x)                                                                    \
    CASE(SHIFT_LEFT, (uint64_t)scalar_shift_left_##name(x, y))                                     \
    CASE(SHIFT_RIGHT, (uint64_t)scalar_shift_right_##name(x, y))                                   \
    CASE(SHRINK, (uint64_t)scalar_shrink_##name(                                                   \
                     x, scalar_make_f64((uint64_t)y), scalar_make_f64((uint64_t)z)))               \
    CASE(STICKY, scalar_bits_f64(scalar_##name##_to_sticky(x)))                                    \
    CASE(POW_BY_INT64, scalar_pow_integer((uint64_t)x, (int64_t)y))                                \
    CASE(POW_BY_FLOAT64,                                                                           \
        cast_from_f64(dtype, scalar_pow_f64((double)x, scalar_make_f64((uint64_t)y)), 1))

/* Moves and logic, of bits. */
#define STEP_BITS(CASE, is_bool, a, b, c)                                                          \
    CASE(COPY, a)                                                                                  \
    CASE(WHERE, (uint8_t)a != 0 ? b : c)                                                           \
    CASE(NOT, a == 0)                                                                              \
    CASE(BIT_AND, is_bool ? (uint64_t)((a != 0) & (b != 0)) : a &b)                                \
    CASE(BIT_OR, is_bool ? (uint64_t)((a != 0) | (b != 0)) : a | b)                                \
    CASE(BIT_XOR, is_bool ? (uint64_t)((a != 0) ^ (b != 0)) : a ^ b)                               \
    CASE(EQUAL, (a != 0) == (b != 0)) /* of bool */                                                \
    CASE(NEG, a ^ 0x8000u)            /* of halves, as ABS */                                      \
    CASE(ABS, a & 0x7FFFu)

DEVICE int64_t step_prelu_int64(int64_t x, int64_t slope) {
    return x < 0 ? scalar_mul_int64(slope, x) : x;
}
DEVICE uint64_t step_prelu_uint64(uint64_t x, uint64_t slope) {
    (void)slope;
    return x;
}

/* Comparisons give 0 or 1. */
DEVICE uint64_t step_result_f32(uint32_t dtype, float value) {
    return dtype == DTYPE_BOOL ? (uint64_t)(value != 0.0f) : element_from_f32(dtype, value);
}
DEVICE uint64_t step_result_f64(uint32_t dtype, double value) {
    return dtype == DTYPE_BOOL ? (uint64_t)(value != 0.0) : element_from_f64(dtype, value);
}
/* A further operand of an integer step: exponents, and the numbers of SHRINK, have a type of their
 * own. */
DEVICE uint64_t step_further(uint32_t op, uint32_t dtype, uint64_t bits) {
    const int is_other = op == CUDA_POINTWISE_POW_BY_INT64 || op == CUDA_POINTWISE_POW_BY_FLOAT64 ||
                         op == CUDA_POINTWISE_SHRINK;
    return is_other ? bits : element_widen(dtype, bits);
}

#define STEP_ANSWER(OP, expression)                                                                \
    case CUDA_POINTWISE_##OP:                                                                      \
        return expression;

DEVICE float step_long_f32(uint32_t op, float x, float y, float alpha, float beta) {
    switch (op) {
        STEP_LONG_FLOATS(STEP_ANSWER, f32, x, y)
    default:
        return scalar_nan_f32(); /* the planner asks for nothing else */
    }
}

/* Long functors are functions of their own, which take all lanes at once: a call is cheap compared
 * with them, and the short functors keep their operands in registers. */
DEVICE_CALL void step_away_f32(const CudaPointwiseStep *step, float alpha, float beta,
    const StepLanes *a, const StepLanes *b, StepLanes *out) {
    for (int i = 0; i < LANES; i++) {
        const float x = element_to_f32(step->dtype, a->bits[i]);
        const float y = element_to_f32(step->dtype, b->bits[i]);
        out->bits[i] = step_result_f32(step->result, step_long_f32(step->op, x, y, alpha, beta));
    }
}

#define STEP_CASE(OP, expression)                                                                  \
    case CUDA_POINTWISE_##OP:                                                                      \
        UNROLLED for (int i = 0; i < LANES; i++) v[i] = expression;                                \
        break;

/* float32, float16 and bfloat16. A comparison's result is 0 or 1. */
DEVICE StepLanes step_f32(const CudaPointwiseStep *step, float alpha, float beta,
    const StepLanes *a, const StepLanes *b, const StepLanes *c) {
    float x[LANES], y[LANES], z[LANES], v[LANES];
    UNROLLED for (int i = 0; i < LANES; i++) {
        x[i] = element_to_f32(step->dtype, a->bits[i]);
        y[i] = element_to_f32(step->dtype, b->bits[i]);
        z[i] = element_to_f32(step->dtype, c->bits[i]);
    }
    StepLanes lanes;
    switch (step->op) {
        STEP_SHORT_FLOATS(STEP_CASE, float, f32, x[i], y[i], z[i])
    default: {
        const StepLanes away_a = *a, away_b = *b;
        step_away_f32(step, alpha, beta, &away_a, &away_b, &lanes);
        return lanes;
    }
    }
    UNROLLED for (int i = 0; i < LANES; i++) lanes.bits[i] = step_result_f32(step->result, v[i]);
    return lanes;
}

/* float64 and integers are rarer: all their steps are such calls, which compiles much faster. */
DEVICE double step_any_f64(uint32_t op, double x, double y, double z, double alpha, double beta) {
    switch (op) {
        STEP_SHORT_FLOATS(STEP_ANSWER, double, f64, x, y, z)
        STEP_LONG_FLOATS(STEP_ANSWER, f64, x, y)
    default:
        return scalar_nan_f64();
    }
}

DEVICE_CALL void step_f64(const CudaPointwiseStep *step, double alpha, double beta,
    const StepLanes *a, const StepLanes *b, const StepLanes *c, StepLanes *out) {
    for (int i = 0; i < LANES; i++) {
        const double x = scalar_make_f64(a->bits[i]), y = scalar_make_f64(b->bits[i]);
        const double v = step_any_f64(step->op, x, y, scalar_make_f64(c->bits[i]), alpha, beta);
        out->bits[i] = step_result_f64(step->result, v);
    }
}

#define STEP_INTEGER(T, name)                                                                      \
    DEVICE uint64_t step_any_##name(uint32_t op, uint32_t dtype, T x, T y, T z) {                  \
        switch (op) {                                                                              \
            STEP_INTEGERS(STEP_ANSWER, name, dtype, x, y, z)                                       \
        default:                                                                                   \
            return 0; /* the planner asks for nothing else */                                      \
        }                                                                                          \
    }                                                                                              \
    DEVICE_CALL void step_##name(const CudaPointwiseStep *step, const StepLanes *a,                \
        const StepLanes *b, const StepLanes *c, StepLanes *out) {                                  \
        for (int i = 0; i < LANES; i++) {                                                          \
            const T x = (T)element_widen(step->dtype, a->bits[i]);                                 \
            const T y = (T)step_further(step->op, step->dtype, b->bits[i]);                        \
            const T z = (T)step_further(step->op, step->dtype, c->bits[i]);                        \
            out->bits[i] = element_cut(                                                            \
                element_size(step->result), step_any_##name(step->op, step->dtype, x, y, z));      \
        }                                                                                          \
    }
STEP_INTEGER(int64_t, int64)
STEP_INTEGER(uint64_t, uint64)

DEVICE_CALL void step_away_cast(const CudaPointwiseStep *step, const StepLanes *a, StepLanes *out) {
    for (int i = 0; i < LANES; i++)
        out->bits[i] = cast_element(step->dtype, step->result, step->saturate, a->bits[i]);
}

DEVICE StepLanes step_bits(
    const CudaPointwiseStep *step, const StepLanes *a, const StepLanes *b, const StepLanes *c) {
    const int is_bool = step->dtype == DTYPE_BOOL;
    StepLanes lanes;
    uint64_t v[LANES];
    switch (step->op) {
        STEP_BITS(STEP_CASE, is_bool, a->bits[i], b->bits[i], c->bits[i])
    default:
        return *a; /* the planner asks for nothing else */
    }
    UNROLLED for (int i = 0; i < LANES; i++) lanes.bits[i] = v[i];
    return lanes;
}
