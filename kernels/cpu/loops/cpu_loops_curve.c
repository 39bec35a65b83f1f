/* Long functions of one operand. */
#include "kernels/cpu/loops/cpu_loops_internal.h"
#include "kernels/cpu/loops/cpu_loops_table.h"
#include "kernels/scalar/scalar_float.h"
#include "kernels/scalar/scalar_inverse.h"
#include "kernels/scalar/scalar_trigonometric.h"

/* Blocks go through the fast functor, which also finds the rare large arguments (with infinities
 * and NaN); these are computed again. The operand is copied first, since out may be its address. */
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
#define LOOPS_ANGLE(function)                                                                      \
    ANGLE_LOOP(function, float32, float, f32)                                                      \
    ANGLE_LOOP(function, float64, double, f64)                                                     \
    LOOP_HALVES(function, 1, 2)

LOOPS_FLOAT1(gelu_erf)
LOOPS_FLOAT1(gelu_tanh)
LOOPS_FLOAT1AB(scaled_hard_swish)
#define DERIVED_LONG(form, id, function) LOOPS_##form(function)
#include "kernels/cpu/loops/cpu_loops_derived.def"

static const LoopRow rows[] = {
    LOOP_FLOAT_ROW(GELU_ERF, gelu_erf),
    LOOP_FLOAT_ROW(GELU_TANH, gelu_tanh),
    LOOP_FLOAT_ROW(SCALED_HARD_SWISH, scaled_hard_swish),
#define DERIVED_LONG(form, id, function) LOOP_ROW_##form(id, function)
#include "kernels/cpu/loops/cpu_loops_derived.def"
};

CpuLoop *CPU_LOOPS_NAME(cpu_loops_curve)(CpuLoopId id, DType dtype) {
    return LOOP_FIND(rows, id, dtype);
}
