/* Trigonometric and hyperbolic functions and their inverses. float32 goes through float64. */
#include "kernels/cpu/loops/cpu_loops_internal.h"
#include "kernels/cpu/loops/cpu_loops_table.h"
#include "kernels/scalar/scalar_hyperbolic.h"
#include "kernels/scalar/scalar_inverse.h"
#include "kernels/scalar/scalar_trigonometric.h"

/* Blocks go through the fast functor; the rare large arguments (infinities and NaN among them) are
 * found while doing so and done again. The operand is kept aside: out may be its address. */
#define ANGLE_LOOP(function, name, T, s)                                                           \
    LOOP_FUNCTION(function##_##name) {                                                             \
        T *to = out;                                                                               \
        const T *from = operands[0].data;                                                          \
        for (int64_t begin = 0; begin < count; begin += CPU_HALF_BLOCK) {                          \
            int64_t n = count - begin < CPU_HALF_BLOCK ? count - begin : CPU_HALF_BLOCK;           \
            T kept[CPU_HALF_BLOCK];                                                                \
            memcpy(kept, from + begin, (size_t)n * sizeof(T));                                     \
            int large = 0;                                                                         \
            for (int64_t i = 0; i < n; i++)                                                        \
                large |= !(scalar_abs_##s(kept[i]) < (T)SCALAR_TRIGONOMETRIC_LIMIT);               \
            CPU_EACH(i, n) to[begin + i] = scalar_##function##_fast_##s(kept[i]);                  \
            for (int64_t i = 0; large && i < n; i++)                                               \
                if (!(scalar_abs_##s(kept[i]) < (T)SCALAR_TRIGONOMETRIC_LIMIT))                    \
                    to[begin + i] = (T)scalar_##function##_large_f64((double)kept[i]);             \
        }                                                                                          \
    }
ANGLE_LOOP(sin, float32, float, f32)
ANGLE_LOOP(cos, float32, float, f32)
ANGLE_LOOP(sin, float64, double, f64)
ANGLE_LOOP(cos, float64, double, f64)
ANGLE_LOOP(tan, float32, float, f32)
ANGLE_LOOP(tan, float64, double, f64)

#define FLOAT_LOOPS(name, T, s)                                                                    \
    LOOP_UNARY(asin_##name, T, T, , scalar_asin_##s(x))                                            \
    LOOP_UNARY(acos_##name, T, T, , scalar_acos_##s(x))                                            \
    LOOP_UNARY(atan_##name, T, T, , scalar_atan_##s(x))                                            \
    LOOP_UNARY(sinh_##name, T, T, , scalar_sinh_##s(x))                                            \
    LOOP_UNARY(cosh_##name, T, T, , scalar_cosh_##s(x))                                            \
    LOOP_UNARY(asinh_##name, T, T, , scalar_asinh_##s(x))                                          \
    LOOP_UNARY(acosh_##name, T, T, , scalar_acosh_##s(x))                                          \
    LOOP_UNARY(atanh_##name, T, T, , scalar_atanh_##s(x))
FLOAT_LOOPS(float32, float, f32)
FLOAT_LOOPS(float64, double, f64)
LOOP_HALVES(sin, 1, 2)
LOOP_HALVES(cos, 1, 2)
LOOP_HALVES(tan, 1, 2)
LOOP_HALVES(asin, 1, 2)
LOOP_HALVES(acos, 1, 2)
LOOP_HALVES(atan, 1, 2)
LOOP_HALVES(sinh, 1, 2)
LOOP_HALVES(cosh, 1, 2)
LOOP_HALVES(asinh, 1, 2)
LOOP_HALVES(acosh, 1, 2)
LOOP_HALVES(atanh, 1, 2)

static const LoopRow rows[] = {
    LOOP_FLOAT_ROW(SIN, sin),
    LOOP_FLOAT_ROW(COS, cos),
    LOOP_FLOAT_ROW(TAN, tan),
    LOOP_FLOAT_ROW(ASIN, asin),
    LOOP_FLOAT_ROW(ACOS, acos),
    LOOP_FLOAT_ROW(ATAN, atan),
    LOOP_FLOAT_ROW(SINH, sinh),
    LOOP_FLOAT_ROW(COSH, cosh),
    LOOP_FLOAT_ROW(ASINH, asinh),
    LOOP_FLOAT_ROW(ACOSH, acosh),
    LOOP_FLOAT_ROW(ATANH, atanh),
};

CpuLoop *CPU_LOOPS_NAME(cpu_loops_angle)(CpuLoopId id, DType dtype) {
    return LOOP_FIND(rows, id, dtype);
}
