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
#define FLOAT_LONG(op, expression) STEP_ANSWER(op, expression)
#define T float
#define FUNCTOR(function) scalar_##function##_f32
#include "kernels/cuda/device/device_floats.def"
    default:
        return scalar_nan_f32(); /* the planner emits no other operation */
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
#define FLOAT_SHORT(op, expression) STEP_CASE(op, expression)
#define T float
#define FUNCTOR(function) scalar_##function##_f32
#define X x[i]
#define Y y[i]
#define Z z[i]
#include "kernels/cuda/device/device_floats.def"
    default: {
        const StepLanes away_a = *a, away_b = *b;
        step_away_f32(step, alpha, beta, &away_a, &away_b, &lanes);
        return lanes;
    }
    }
    UNROLLED for (int i = 0; i < LANES; i++) lanes.bits[i] = step_result_f32(step->result, v[i]);
    return lanes;
}

/* float64 and integers are rarer: each of their steps is a function call, which compiles much
 * faster. */
DEVICE double step_any_f64(uint32_t op, double x, double y, double z, double alpha, double beta) {
    switch (op) {
#define FLOAT_SHORT(op, expression) STEP_ANSWER(op, expression)
#define FLOAT_LONG(op, expression) STEP_ANSWER(op, expression)
#define T double
#define FUNCTOR(function) scalar_##function##_f64
#include "kernels/cuda/device/device_floats.def"
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

DEVICE uint64_t step_any_int64(uint32_t op, uint32_t dtype, int64_t x, int64_t y, int64_t z) {
    switch (op) {
#define INTEGER(op, expression) STEP_ANSWER(op, expression)
#define NAME(before, after) before##int64##after
#include "kernels/cuda/device/device_integers.def"
    default:
        return 0; /* the planner emits no other operation */
    }
}

DEVICE uint64_t step_any_uint64(uint32_t op, uint32_t dtype, uint64_t x, uint64_t y, uint64_t z) {
    switch (op) {
#define INTEGER(op, expression) STEP_ANSWER(op, expression)
#define NAME(before, after) before##uint64##after
#include "kernels/cuda/device/device_integers.def"
    default:
        return 0; /* the planner emits no other operation */
    }
}

#define STEP_INTEGER(T, name)                                                                      \
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
        return *a; /* the planner emits no other operation */
    }
    UNROLLED for (int i = 0; i < LANES; i++) lanes.bits[i] = v[i];
    return lanes;
}
