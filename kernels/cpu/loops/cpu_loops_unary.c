/* Functions of one operand, and Clip. */
#include "kernels/cpu/loops/cpu_loops_internal.h"
#include "kernels/cpu/loops/cpu_loops_table.h"
#include "kernels/scalar/scalar_float.h"
#include "kernels/scalar/scalar_integer.h"

#define CLIP_LOOP(name, T)                                                                         \
    LOOP_FUNCTION(clip_##name) {                                                                   \
        T *to = out;                                                                               \
        const T *from = operands[0].data;                                                          \
        const T low = *(const T *)operands[1].data, high = *(const T *)operands[2].data;           \
        CPU_EACH(i, count) {                                                                       \
            T x = from[i];                                                                         \
            T y = x < low ? low : x;                                                               \
            to[i] = y > high ? high : y;                                                           \
        }                                                                                          \
    }
#define INTEGER_LOOPS(name, T)                                                                     \
    LOOP_UNARY(neg_##name, T, T, , scalar_neg_##name(x))                                           \
    LOOP_UNARY(abs_##name, T, T, , scalar_abs_##name(x))                                           \
    LOOP_UNARY(sign_##name, T, T, , scalar_sign_##name(x))                                         \
    LOOP_UNARY(relu_##name, T, T, , scalar_max_##name(x, 0))                                       \
    CLIP_LOOP(name, T)
EACH_INTEGER(INTEGER_LOOPS)

#define ALPHA(T) const T alpha = (T)parameters->alpha
#define ALPHA_BETA(T) const T alpha = (T)parameters->alpha, beta = (T)parameters->beta
#define FLOAT_LOOPS(name, T, s)                                                                    \
    LOOP_UNARY(neg_##name, T, T, , scalar_neg_##s(x))                                              \
    LOOP_UNARY(abs_##name, T, T, , scalar_abs_##s(x))                                              \
    LOOP_UNARY(sign_##name, T, T, , scalar_sign_##s(x))                                            \
    LOOP_UNARY(sqrt_##name, T, T, , scalar_sqrt_##s(x))                                            \
    LOOP_UNARY(reciprocal_##name, T, T, , scalar_reciprocal_##s(x))                                \
    LOOP_UNARY(exp_##name, T, T, , scalar_exp_##s(x))                                              \
    LOOP_UNARY(log_##name, T, T, , scalar_log_##s(x))                                              \
    LOOP_UNARY(erf_##name, T, T, , scalar_erf_##s(x))                                              \
    LOOP_UNARY(tanh_##name, T, T, , scalar_tanh_##s(x))                                            \
    LOOP_UNARY(sigmoid_##name, T, T, , scalar_sigmoid_##s(x))                                      \
    LOOP_UNARY(relu_##name, T, T, , scalar_relu_##s(x))                                            \
    LOOP_UNARY(leaky_relu_##name, T, T, ALPHA(T), scalar_leaky_relu_##s(x, alpha))                 \
    LOOP_UNARY(elu_##name, T, T, ALPHA(T), scalar_elu_##s(x, alpha))                               \
    LOOP_UNARY(selu_##name, T, T, ALPHA_BETA(T), scalar_selu_##s(x, alpha, beta))                  \
    LOOP_UNARY(gelu_erf_##name, T, T, , scalar_gelu_erf_##s(x))                                    \
    LOOP_UNARY(gelu_tanh_##name, T, T, , scalar_gelu_tanh_##s(x))                                  \
    LOOP_UNARY(softplus_##name, T, T, , scalar_softplus_##s(x))                                    \
    LOOP_UNARY(hard_sigmoid_##name, T, T, ALPHA_BETA(T), scalar_hard_sigmoid_##s(x, alpha, beta))  \
    LOOP_UNARY(hard_swish_##name, T, T, , scalar_hard_swish_##s(x))                                \
    LOOP_UNARY(floor_##name, T, T, , scalar_floor_##s(x))                                          \
    LOOP_UNARY(ceil_##name, T, T, , scalar_ceil_##s(x))                                            \
    LOOP_UNARY(round_##name, T, T, , scalar_round_##s(x))                                          \
    CLIP_LOOP(name, T)
FLOAT_LOOPS(float32, float, f32)
FLOAT_LOOPS(float64, double, f64)

LOOP_UNARY(neg_float16, uint16_t, uint16_t, , (uint16_t)(x ^ 0x8000))
LOOP_UNARY(neg_bfloat16, uint16_t, uint16_t, , (uint16_t)(x ^ 0x8000))
LOOP_UNARY(abs_float16, uint16_t, uint16_t, , (uint16_t)(x & 0x7FFF))
LOOP_UNARY(abs_bfloat16, uint16_t, uint16_t, , (uint16_t)(x & 0x7FFF))
LOOP_HALVES(sign, 1, 2)
LOOP_HALVES(sqrt, 1, 2)
LOOP_HALVES(reciprocal, 1, 2)
LOOP_HALVES(exp, 1, 2)
LOOP_HALVES(log, 1, 2)
LOOP_HALVES(erf, 1, 2)
LOOP_HALVES(tanh, 1, 2)
LOOP_HALVES(sigmoid, 1, 2)
LOOP_HALVES(relu, 1, 2)
LOOP_HALVES(leaky_relu, 1, 2)
LOOP_HALVES(elu, 1, 2)
LOOP_HALVES(selu, 1, 2)
LOOP_HALVES(gelu_erf, 1, 2)
LOOP_HALVES(gelu_tanh, 1, 2)
LOOP_HALVES(softplus, 1, 2)
LOOP_HALVES(hard_sigmoid, 1, 2)
LOOP_HALVES(hard_swish, 1, 2)
LOOP_HALVES(floor, 1, 2)
LOOP_HALVES(ceil, 1, 2)
LOOP_HALVES(round, 1, 2)
LOOP_HALVES(clip, 3, 2)

static const LoopRow rows[] = {
    LOOP_NUMBER_ROW(NEG, neg),
    LOOP_NUMBER_ROW(ABS, abs),
    LOOP_NUMBER_ROW(SIGN, sign),
    LOOP_NUMBER_ROW(RELU, relu),
    LOOP_NUMBER_ROW(CLIP, clip),
    LOOP_FLOAT_ROW(SQRT, sqrt),
    LOOP_FLOAT_ROW(RECIPROCAL, reciprocal),
    LOOP_FLOAT_ROW(EXP, exp),
    LOOP_FLOAT_ROW(LOG, log),
    LOOP_FLOAT_ROW(ERF, erf),
    LOOP_FLOAT_ROW(TANH, tanh),
    LOOP_FLOAT_ROW(SIGMOID, sigmoid),
    LOOP_FLOAT_ROW(LEAKY_RELU, leaky_relu),
    LOOP_FLOAT_ROW(ELU, elu),
    LOOP_FLOAT_ROW(SELU, selu),
    LOOP_FLOAT_ROW(GELU_ERF, gelu_erf),
    LOOP_FLOAT_ROW(GELU_TANH, gelu_tanh),
    LOOP_FLOAT_ROW(SOFTPLUS, softplus),
    LOOP_FLOAT_ROW(HARD_SIGMOID, hard_sigmoid),
    LOOP_FLOAT_ROW(HARD_SWISH, hard_swish),
    LOOP_FLOAT_ROW(FLOOR, floor),
    LOOP_FLOAT_ROW(CEIL, ceil),
    LOOP_FLOAT_ROW(ROUND, round),
};

CpuLoop *CPU_LOOPS_NAME(cpu_loops_unary)(CpuLoopId id, DType dtype) {
    return LOOP_FIND(rows, id, dtype);
}
