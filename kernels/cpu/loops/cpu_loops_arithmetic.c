/* Binary arithmetic. */
#include "kernels/cpu/loops/cpu_loops_internal.h"
#include "kernels/cpu/loops/cpu_loops_table.h"
#include "kernels/scalar/scalar_convert.h"
#include "kernels/scalar/scalar_float.h"
#include "kernels/scalar/scalar_integer.h"

enum { POW_BLOCK = 512 };

/* rare, so it is not inlined */
static __attribute__((noinline)) double power(double x, double y) { return scalar_pow_f64(x, y); }

#define ELEMENTWISE_NUMBER2(id, function, cost) LOOPS_NUMBER2(function)
#include "kernels/operator/elementwise.def"

#define INTEGER_LOOPS(name, T)                                                                     \
    LOOP_BINARY(mod_##name, T, T, T, scalar_mod_##name(x, y))                                      \
    LOOP_BINARY(fmod_##name, T, T, T, scalar_fmod_##name(x, y))                                    \
    LOOP_BINARY(max_##name, T, T, T, scalar_max_##name(x, y))                                      \
    LOOP_BINARY(min_##name, T, T, T, scalar_min_##name(x, y))                                      \
    LOOP_BINARY(pow_by_int64_##name, T, T, int64_t, scalar_pow_##name(x, y))                       \
    LOOP_BINARY(pow_by_float64_##name, T, T, double, scalar_f64_to_##name(power((double)x, y)))
EACH_INTEGER(INTEGER_LOOPS)

#define PRELU_SIGNED_LOOP(name, T)                                                                 \
    LOOP_BINARY(prelu_##name, T, T, T, (T)(x < 0 ? scalar_mul_##name(y, x) : x))
#define PRELU_UNSIGNED_LOOP(name, T) LOOP_BINARY(prelu_##name, T, T, T, ((void)y, x))
PRELU_SIGNED_LOOP(int8, int8_t)
PRELU_SIGNED_LOOP(int16, int16_t)
PRELU_SIGNED_LOOP(int32, int32_t)
PRELU_SIGNED_LOOP(int64, int64_t)
PRELU_UNSIGNED_LOOP(uint8, uint8_t)
PRELU_UNSIGNED_LOOP(uint16, uint16_t)
PRELU_UNSIGNED_LOOP(uint32, uint32_t)
PRELU_UNSIGNED_LOOP(uint64, uint64_t)

#define FLOAT_LOOPS(name, T, s)                                                                    \
    LOOP_BINARY(mod_##name, T, T, T, scalar_mod_##s(x, y))                                         \
    LOOP_BINARY(fmod_##name, T, T, T, scalar_fmod_##s(x, y))                                       \
    LOOP_BINARY(max_##name, T, T, T, scalar_max_##s(x, y))                                         \
    LOOP_BINARY(min_##name, T, T, T, scalar_min_##s(x, y))                                         \
    LOOP_BINARY(prelu_##name, T, T, T, scalar_leaky_relu_##s(x, y))                                \
    LOOP_BINARY(general_pow_##name, T, T, T, scalar_pow_##s(x, y))                                 \
    LOOP_UNARY(cube_##name, T, T, , scalar_cube_##s(x))                                            \
    /* One base or exponent for all elements: compilers turn what depends on it alone into jumps,  \
     * and do not vectorise the loop. So it is read from a block like the others. */               \
    static void spread_pow_##name(                                                                 \
        void *out, const CpuOperand *operands, int64_t count, const CpuParameters *parameters) {   \
        const int scalar = operands[1].step == 0;                                                  \
        T *to = out, block[POW_BLOCK];                                                             \
        for (int64_t i = 0; i < (count < POW_BLOCK ? count : POW_BLOCK); i++)                      \
            block[i] = *(const T *)operands[scalar].data;                                          \
        for (int64_t i = 0; i < count; i += POW_BLOCK) {                                           \
            CpuOperand part[2] = {operands[0], operands[1]};                                       \
            part[1 - scalar].data = (const T *)operands[1 - scalar].data + i;                      \
            part[scalar].data = block;                                                             \
            part[scalar].step = 1;                                                                 \
            general_pow_##name(                                                                    \
                to + i, part, count - i < POW_BLOCK ? count - i : POW_BLOCK, parameters);          \
        }                                                                                          \
    }                                                                                              \
    /* squares and cubes are frequent; scalar_pow gives them the same bits */                      \
    LOOP_FUNCTION(pow_##name) {                                                                    \
        const bool one = operands[1].step == 0;                                                    \
        const T exponent = *(const T *)operands[1].data;                                           \
        CpuOperand twice[2] = {operands[0], operands[0]};                                          \
        if (operands[0].step + operands[1].step == 2)                                              \
            general_pow_##name(out, operands, count, parameters);                                  \
        else if (one && operands[0].step == 1 && exponent == (T)2)                                 \
            mul_##name(out, twice, count, parameters);                                             \
        else if (one && operands[0].step == 1 && exponent == (T)3)                                 \
            cube_##name(out, operands, count, parameters);                                         \
        else if (one && operands[0].step == 0)                                                     \
            general_pow_##name(out, operands, count, parameters);                                  \
        else                                                                                       \
            spread_pow_##name(out, operands, count, parameters);                                   \
    }
FLOAT_LOOPS(float32, float, f32)
FLOAT_LOOPS(float64, double, f64)
LOOP_HALVES(mod, 2, 2)
LOOP_HALVES(fmod, 2, 2)
LOOP_HALVES(max, 2, 2)
LOOP_HALVES(min, 2, 2)
LOOP_HALVES(prelu, 2, 2)
LOOP_HALVES(pow, 2, 2)

static const LoopRow rows[] = {
    LOOP_NUMBER_ROW(MOD, mod),
    LOOP_NUMBER_ROW(FMOD, fmod),
    LOOP_NUMBER_ROW(MAX, max),
    LOOP_NUMBER_ROW(MIN, min),
    LOOP_NUMBER_ROW(PRELU, prelu),
    LOOP_FLOAT_ROW(POW, pow),
    {CPU_LOOP_POW_BY_INT64, {LOOP_INTEGER_ENTRIES(pow_by_int64)}},
    {CPU_LOOP_POW_BY_FLOAT64, {LOOP_INTEGER_ENTRIES(pow_by_float64)}},
#define ELEMENTWISE_NUMBER2(id, function, cost) LOOP_NUMBER_ROW(id, function),
#include "kernels/operator/elementwise.def"
};

CpuLoop *CPU_LOOPS_NAME(cpu_loops_arithmetic)(CpuLoopId id, DType dtype) {
    return LOOP_FIND(rows, id, dtype);
}
