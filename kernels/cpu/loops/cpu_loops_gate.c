/* Activations with a curve or a threshold of their own: Celu, Softsign, Mish, Swish, SwiGLU,
 * ThresholdedRelu, Shrink. */
#include "kernels/cpu/loops/cpu_loops_internal.h"
#include "kernels/cpu/loops/cpu_loops_table.h"
#include "kernels/scalar/scalar_float.h"
#include "kernels/scalar/scalar_integer.h"

/* bias and limit are one element each, of type R: an integer's are real numbers. */
#define SHRINK_LOOP(name, T, R, s)                                                                 \
    LOOP_FUNCTION(shrink_##name) {                                                                 \
        T *to = out;                                                                               \
        const T *from = operands[0].data;                                                          \
        const R bias = *(const R *)operands[1].data, limit = *(const R *)operands[2].data;         \
        CPU_EACH(i, count) {                                                                       \
            T x = from[i];                                                                         \
            to[i] = scalar_shrink_##s(x, bias, limit);                                             \
        }                                                                                          \
    }
#define SHRINK_INTEGER_LOOP(name, T) SHRINK_LOOP(name, T, double, name)
EACH_INTEGER(SHRINK_INTEGER_LOOP)

#define ALPHA(T) const T alpha = (T)parameters->alpha
#define FLOAT_LOOPS(name, T, s)                                                                    \
    SHRINK_LOOP(name, T, T, s)                                                                     \
    LOOP_UNARY(celu_##name, T, T, ALPHA(T), scalar_celu_##s(x, alpha))                             \
    LOOP_UNARY(softsign_##name, T, T, , scalar_softsign_##s(x))                                    \
    LOOP_UNARY(mish_##name, T, T, , scalar_mish_##s(x))                                            \
    LOOP_UNARY(swish_##name, T, T, ALPHA(T), scalar_swish_##s(x, alpha))                           \
    LOOP_UNARY(thresholded_relu_##name, T, T, ALPHA(T), scalar_thresholded_relu_##s(x, alpha))     \
    LOOP_BINARY(swiglu_##name, T, T, T, scalar_swiglu_##s(x, y, (T)parameters->alpha))
FLOAT_LOOPS(float32, float, f32)
FLOAT_LOOPS(float64, double, f64)
LOOP_HALVES(shrink, 3, 2)
LOOP_HALVES(celu, 1, 2)
LOOP_HALVES(softsign, 1, 2)
LOOP_HALVES(mish, 1, 2)
LOOP_HALVES(swish, 1, 2)
LOOP_HALVES(thresholded_relu, 1, 2)
LOOP_HALVES(swiglu, 2, 2)

static const LoopRow rows[] = {
    LOOP_NUMBER_ROW(SHRINK, shrink),
    LOOP_FLOAT_ROW(CELU, celu),
    LOOP_FLOAT_ROW(SOFTSIGN, softsign),
    LOOP_FLOAT_ROW(MISH, mish),
    LOOP_FLOAT_ROW(SWISH, swish),
    LOOP_FLOAT_ROW(THRESHOLDED_RELU, thresholded_relu),
    LOOP_FLOAT_ROW(SWIGLU, swiglu),
};

CpuLoop *CPU_LOOPS_NAME(cpu_loops_gate)(CpuLoopId id, DType dtype) {
    return LOOP_FIND(rows, id, dtype);
}
