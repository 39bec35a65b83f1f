#pragma once
/* One step of a pointwise program, on several elements at a time: the functors of kernels/scalar,
 * so that every element has the bits that the cpu gives it. */
#include "kernels/cuda/device/device_cast.h"
#include "kernels/scalar/scalar_float.h"
#include "kernels/scalar/scalar_integer.h"

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
    CASE(IS_NAN, (T)(x != x))

#define STEP_ANSWER(OP, expression)                                                                \
    case CUDA_POINTWISE_##OP:                                                                      \
        return expression;

#define STEP_LONG_FLOATS(s, x, y)                                                                  \
    STEP_ANSWER(MOD, scalar_mod_##s(x, y))                                                         \
    STEP_ANSWER(FMOD, scalar_fmod_##s(x, y))                                                       \
    STEP_ANSWER(POW, scalar_pow_##s(x, y))                                                         \
    STEP_ANSWER(EXP, scalar_exp_##s(x))                                                            \
    STEP_ANSWER(LOG, scalar_log_##s(x))                                                            \
    STEP_ANSWER(SIN, scalar_sin_##s(x))                                                            \
    STEP_ANSWER(COS, scalar_cos_##s(x))                                                            \
    STEP_ANSWER(ERF, scalar_erf_##s(x))                                                            \
    STEP_ANSWER(TANH, scalar_tanh_##s(x))                                                          \
    STEP_ANSWER(SIGMOID, scalar_sigmoid_##s(x))                                                    \
    STEP_ANSWER(ELU, scalar_elu_##s(x, alpha))                                                     \
    STEP_ANSWER(SELU, scalar_selu_##s(x, alpha, beta))                                             \
    STEP_ANSWER(GELU_ERF, scalar_gelu_erf_##s(x))                                                  \
    STEP_ANSWER(GELU_TANH, scalar_gelu_tanh_##s(x))                                                \
    STEP_ANSWER(SOFTPLUS, scalar_softplus_##s(x))

DEVICE float step_long_f32(uint32_t op, float x, float y, float alpha, float beta) {
    switch (op) {
        STEP_LONG_FLOATS(f32, x, y)
    default:
        return scalar_nan_f32(); /* the planner asks for nothing else */
    }
}

/* Long functors stand in functions of their own, which take all lanes at once: what they cost
 * dwarfs a call, and the short ones keep their operands in registers. */
DEVICE_CALL void step_away_f32(const CudaPointwiseStep *step, float alpha, float beta,
    const StepLanes *a, const StepLanes *b, StepLanes *out) {
    for (int i = 0; i < LANES; i++) {
        const float x = element_to_f32(step->dtype, a->bits[i]);
        const float y = element_to_f32(step->dtype, b->bits[i]);
        out->bits[i] = element_from_f32(step->result, step_long_f32(step->op, x, y, alpha, beta));
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
    UNROLLED for (int i = 0; i < LANES; i++) lanes.bits[i] =
        step->result == DTYPE_BOOL ? (uint64_t)(v[i] != 0.0f)
                                   : element_from_f32(step->result, v[i]);
    return lanes;
}

/* float64 and integers are rarer: all of theirs is away, which compiles much faster. */
DEVICE double step_any_f64(uint32_t op, double x, double y, double z, double alpha, double beta) {
    switch (op) {
        STEP_SHORT_FLOATS(STEP_ANSWER, double, f64, x, y, z)
        STEP_LONG_FLOATS(f64, x, y)
    default:
        return scalar_nan_f64();
    }
}

DEVICE_CALL void step_f64(const CudaPointwiseStep *step, double alpha, double beta,
    const StepLanes *a, const StepLanes *b, const StepLanes *c, StepLanes *out) {
    for (int i = 0; i < LANES; i++) {
        const double x = scalar_make_f64(a->bits[i]), y = scalar_make_f64(b->bits[i]);
        const double v = step_any_f64(step->op, x, y, scalar_make_f64(c->bits[i]), alpha, beta);
        out->bits[i] =
            step->result == DTYPE_BOOL ? (uint64_t)(v != 0.0) : element_from_f64(step->result, v);
    }
}

/* Narrow integers are computed in 64 bits and cut: what wraps comes to the same. */
#define STEP_INTEGER(T, name, PRELU_OF)                                                            \
    DEVICE uint64_t step_any_##name(uint32_t op, uint32_t dtype, T x, T y, T z) {                  \
        switch (op) {                                                                              \
            STEP_ANSWER(ADD, (uint64_t)scalar_add_##name(x, y))                                    \
            STEP_ANSWER(SUB, (uint64_t)scalar_sub_##name(x, y))                                    \
            STEP_ANSWER(MUL, (uint64_t)scalar_mul_##name(x, y))                                    \
            STEP_ANSWER(DIV, (uint64_t)scalar_div_##name(x, y))                                    \
            STEP_ANSWER(MOD, (uint64_t)scalar_mod_##name(x, y))                                    \
            STEP_ANSWER(FMOD, (uint64_t)scalar_fmod_##name(x, y))                                  \
            STEP_ANSWER(MAX, (uint64_t)scalar_max_##name(x, y))                                    \
            STEP_ANSWER(MIN, (uint64_t)scalar_min_##name(x, y))                                    \
            STEP_ANSWER(PRELU, (uint64_t)(PRELU_OF))                                               \
            STEP_ANSWER(EQUAL, (uint64_t)(x == y))                                                 \
            STEP_ANSWER(LESS, (uint64_t)(x < y))                                                   \
            STEP_ANSWER(LESS_OR_EQUAL, (uint64_t)(x <= y))                                         \
            STEP_ANSWER(NEG, (uint64_t)scalar_neg_##name(x))                                       \
            STEP_ANSWER(ABS, (uint64_t)scalar_abs_##name(x))                                       \
            STEP_ANSWER(SIGN, (uint64_t)scalar_sign_##name(x))                                     \
            STEP_ANSWER(RELU, (uint64_t)scalar_max_##name(x, 0))                                   \
            STEP_ANSWER(CLIP, (uint64_t)(x < y ? (y > z ? z : y) : (x > z ? z : x)))               \
            STEP_ANSWER(STICKY, scalar_bits_f64(scalar_##name##_to_sticky(x)))                     \
            STEP_ANSWER(POW_BY_INT64, scalar_pow_integer((uint64_t)x, (int64_t)y))                 \
            STEP_ANSWER(POW_BY_FLOAT64,                                                            \
                cast_from_f64(dtype, scalar_pow_f64((double)x, scalar_make_f64((uint64_t)y)), 1))  \
        default:                                                                                   \
            return 0; /* the planner asks for nothing else */                                      \
        }                                                                                          \
    }                                                                                              \
    DEVICE_CALL void step_##name(const CudaPointwiseStep *step, const StepLanes *a,                \
        const StepLanes *b, const StepLanes *c, StepLanes *out) {                                  \
        const int by_other =                                                                       \
            step->op == CUDA_POINTWISE_POW_BY_INT64 || step->op == CUDA_POINTWISE_POW_BY_FLOAT64;  \
        for (int i = 0; i < LANES; i++) {                                                          \
            const T x = (T)element_widen(step->dtype, a->bits[i]);                                 \
            const T y = (T)(by_other ? b->bits[i] : element_widen(step->dtype, b->bits[i]));       \
            const T z = (T)element_widen(step->dtype, c->bits[i]);                                 \
            out->bits[i] = element_cut(                                                            \
                element_size(step->result), step_any_##name(step->op, step->dtype, x, y, z));      \
        }                                                                                          \
    }
STEP_INTEGER(int64_t, int64, x < 0 ? scalar_mul_int64(y, x) : x)
STEP_INTEGER(uint64_t, uint64, x)

DEVICE_CALL void step_away_cast(const CudaPointwiseStep *step, const StepLanes *a, StepLanes *out) {
    for (int i = 0; i < LANES; i++)
        out->bits[i] = cast_element(step->dtype, step->result, step->saturate, a->bits[i]);
}

/* Moves and logic look at bits alone. Answers 0 for other steps. */
DEVICE int step_bits(const CudaPointwiseStep *step, const StepLanes *a, const StepLanes *b,
    const StepLanes *c, StepLanes *out) {
    const int is_bool = step->dtype == DTYPE_BOOL;
    const int is_half = step->dtype == DTYPE_FLOAT16 || step->dtype == DTYPE_BFLOAT16;
    uint64_t v[LANES];
    switch (step->op) {
        STEP_CASE(COPY, a->bits[i])
        STEP_CASE(WHERE, (uint8_t)a->bits[i] != 0 ? b->bits[i] : c->bits[i])
        STEP_CASE(NOT, a->bits[i] == 0)
        STEP_CASE(BIT_AND,
            is_bool ? (uint64_t)((a->bits[i] != 0) & (b->bits[i] != 0)) : a->bits[i] & b->bits[i])
        STEP_CASE(BIT_OR,
            is_bool ? (uint64_t)((a->bits[i] != 0) | (b->bits[i] != 0)) : a->bits[i] | b->bits[i])
        STEP_CASE(BIT_XOR,
            is_bool ? (uint64_t)((a->bits[i] != 0) ^ (b->bits[i] != 0)) : a->bits[i] ^ b->bits[i])
    case CUDA_POINTWISE_CAST: {
        const StepLanes away_a = *a;
        step_away_cast(step, &away_a, out);
        return 1;
    }
    default:
        if (is_bool && step->op == CUDA_POINTWISE_EQUAL) {
            UNROLLED for (int i = 0; i < LANES; i++) v[i] = (a->bits[i] != 0) == (b->bits[i] != 0);
        } else if (is_half && step->op == CUDA_POINTWISE_NEG) {
            UNROLLED for (int i = 0; i < LANES; i++) v[i] = a->bits[i] ^ 0x8000u;
        } else if (is_half && step->op == CUDA_POINTWISE_ABS) {
            UNROLLED for (int i = 0; i < LANES; i++) v[i] = a->bits[i] & 0x7FFFu;
        } else {
            return 0;
        }
    }
    UNROLLED for (int i = 0; i < LANES; i++) out->bits[i] = v[i];
    return 1;
}
