#pragma once
/* The steps of a group that is compiled at run time, as functions of their own: device_pointwise.cu
 * chooses a step while it runs, the group's source names it. Included by the sources that
 * cuda_pointwise_source.c writes; runs on the GPU. */
#include "kernels/cuda/device/device_operands.h"

/* ---- inputs ---- */

DEVICE StepLanes group_contiguous(
    const CudaPointwiseOperands *p, uint32_t index, uint32_t size, uint64_t at) {
    const CudaPointwiseInput *input = &p->inputs[index];
    if (is_whole(p, input->address, size, at)) return load_whole(input->address + at * size, size);
    return load_each(p, input, CUDA_POINTWISE_CONTIGUOUS, size, 1, at);
}

DEVICE StepLanes group_strided(
    const CudaPointwiseOperands *p, uint32_t index, uint32_t size, uint32_t rank, uint64_t at) {
    return load_each(p, &p->inputs[index], CUDA_POINTWISE_STRIDED, size, rank, at);
}

DEVICE StepLanes group_repeated(const CudaPointwiseOperands *p, uint32_t index, uint32_t size) {
    return load_same(element_load(p->inputs[index].address, size, 0));
}

/* ---- steps: group_<family>_<OP>(dtype, result, alpha, beta, a, b, c) ---- */

#define GROUP_STEP(family, OP)                                                                     \
    DEVICE StepLanes group_##family##_##OP(uint32_t dtype, uint32_t result, double alpha,          \
        double beta, StepLanes a, StepLanes b, StepLanes c)

#define GROUP_FLOAT(family, T, OP, expression)                                                     \
    DEVICE T group_one_##family##_##OP(T x, T y, T z, T alpha, T beta) {                           \
        (void)x, (void)y, (void)z, (void)alpha, (void)beta;                                        \
        return expression;                                                                         \
    }                                                                                              \
    GROUP_STEP(family, OP) {                                                                       \
        StepLanes out;                                                                             \
        UNROLLED for (int i = 0; i < LANES; i++) out.bits[i] = step_result_##family(               \
            result, group_one_##family##_##OP(element_to_##family(dtype, a.bits[i]),               \
                        element_to_##family(dtype, b.bits[i]),                                     \
                        element_to_##family(dtype, c.bits[i]), (T)alpha, (T)beta));                \
        return out;                                                                                \
    }
#define FLOAT_SHORT(op, expression) GROUP_FLOAT(f32, float, op, expression)
#define FLOAT_LONG(op, expression) GROUP_FLOAT(f32, float, op, expression)
#define T float
#define FUNCTOR(function) scalar_##function##_f32
#include "kernels/cuda/device/device_floats.def"

#define FLOAT_SHORT(op, expression) GROUP_FLOAT(f64, double, op, expression)
#define FLOAT_LONG(op, expression) GROUP_FLOAT(f64, double, op, expression)
#define T double
#define FUNCTOR(function) scalar_##function##_f64
#include "kernels/cuda/device/device_floats.def"

#define GROUP_INTEGER(family, T, OP, expression)                                                   \
    DEVICE uint64_t group_one_##family##_##OP(uint32_t dtype, T x, T y, T z) {                     \
        (void)dtype, (void)x, (void)y, (void)z;                                                    \
        return expression;                                                                         \
    }                                                                                              \
    GROUP_STEP(family, OP) {                                                                       \
        StepLanes out;                                                                             \
        (void)alpha, (void)beta;                                                                   \
        UNROLLED for (int i = 0; i < LANES; i++) out.bits[i] = element_cut(element_size(result),   \
            group_one_##family##_##OP(dtype, (T)element_widen(dtype, a.bits[i]),                   \
                (T)step_further(CUDA_POINTWISE_##OP, dtype, b.bits[i]),                            \
                (T)step_further(CUDA_POINTWISE_##OP, dtype, c.bits[i])));                          \
        return out;                                                                                \
    }
#define INTEGER(op, expression) GROUP_INTEGER(int64, int64_t, op, expression)
#define NAME(before, after) before##int64##after
#include "kernels/cuda/device/device_integers.def"
#define INTEGER(op, expression) GROUP_INTEGER(uint64, uint64_t, op, expression)
#define NAME(before, after) before##uint64##after
#include "kernels/cuda/device/device_integers.def"

#define GROUP_BITS(OP, expression)                                                                 \
    GROUP_STEP(bits, OP) {                                                                         \
        StepLanes out;                                                                             \
        (void)dtype, (void)result, (void)alpha, (void)beta, (void)a, (void)b, (void)c;             \
        UNROLLED for (int i = 0; i < LANES; i++) out.bits[i] = expression;                         \
        return out;                                                                                \
    }
STEP_BITS(GROUP_BITS, (dtype == DTYPE_BOOL), a.bits[i], b.bits[i], c.bits[i])

DEVICE StepLanes group_cast(uint32_t from, uint32_t to, int saturate, StepLanes a) {
    StepLanes out;
    UNROLLED for (int i = 0; i < LANES; i++) out.bits[i] =
        cast_element(from, to, saturate, a.bits[i]);
    return out;
}
