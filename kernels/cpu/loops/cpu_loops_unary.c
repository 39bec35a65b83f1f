/* Short functions of one operand, and Clip. */
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
EACH_INTEGER(CLIP_LOOP)
CLIP_LOOP(float32, float)
CLIP_LOOP(float64, double)
LOOP_HALVES(clip, 3, 2)

#define SIGN_BIT_LOOPS(name, T)                                                                    \
    LOOP_UNARY(neg_##name, T, T, , scalar_neg_##name(x))                                           \
    LOOP_UNARY(abs_##name, T, T, , scalar_abs_##name(x))
EACH_INTEGER(SIGN_BIT_LOOPS)
LOOP_UNARY(neg_float32, float, float, , scalar_neg_f32(x))
LOOP_UNARY(neg_float64, double, double, , scalar_neg_f64(x))
LOOP_UNARY(neg_float16, uint16_t, uint16_t, , (uint16_t)(x ^ 0x8000))
LOOP_UNARY(neg_bfloat16, uint16_t, uint16_t, , (uint16_t)(x ^ 0x8000))
LOOP_UNARY(abs_float32, float, float, , scalar_abs_f32(x))
LOOP_UNARY(abs_float64, double, double, , scalar_abs_f64(x))
LOOP_UNARY(abs_float16, uint16_t, uint16_t, , (uint16_t)(x & 0x7FFF))
LOOP_UNARY(abs_bfloat16, uint16_t, uint16_t, , (uint16_t)(x & 0x7FFF))

#define DERIVED_SHORT(form, id, function) LOOPS_##form(function)
#include "kernels/cpu/loops/cpu_loops_derived.def"

static const LoopRow rows[] = {
    LOOP_NUMBER_ROW(NEG, neg),
    LOOP_NUMBER_ROW(ABS, abs),
    LOOP_NUMBER_ROW(CLIP, clip),
#define DERIVED_SHORT(form, id, function) LOOP_ROW_##form(id, function)
#include "kernels/cpu/loops/cpu_loops_derived.def"
};

CpuLoop *CPU_LOOPS_NAME(cpu_loops_unary)(CpuLoopId id, DType dtype) {
    return LOOP_FIND(rows, id, dtype);
}
