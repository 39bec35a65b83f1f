/* Gates: activations of several operands (SwiGLU, Shrink). */
#include "kernels/cpu/loops/cpu_loops_internal.h"
#include "kernels/cpu/loops/cpu_loops_table.h"
#include "kernels/scalar/scalar_float.h"
#include "kernels/scalar/scalar_integer.h"

/* bias and limit have one element each, of type R: real numbers for integers. */
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

SHRINK_LOOP(float32, float, float, f32)
SHRINK_LOOP(float64, double, double, f64)
LOOP_HALVES(shrink, 3, 2)

#define ELEMENTWISE_FLOAT2A(id, function, cost) LOOPS_FLOAT2A(function)
#include "kernels/operator/elementwise.def"

static const LoopRow rows[] = {
    LOOP_NUMBER_ROW(SHRINK, shrink),
#define ELEMENTWISE_FLOAT2A(id, function, cost) LOOP_FLOAT_ROW(id, function),
#include "kernels/operator/elementwise.def"
};

CpuLoop *CPU_LOOPS_NAME(cpu_loops_gate)(CpuLoopId id, DType dtype) {
    return LOOP_FIND(rows, id, dtype);
}
