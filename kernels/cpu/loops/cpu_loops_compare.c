/* Comparisons, logic, bits and selection. */
#include "kernels/cpu/loops/cpu_loops_internal.h"
#include "kernels/cpu/loops/cpu_loops_table.h"
#include "kernels/scalar/scalar_float.h"
#include "kernels/scalar/scalar_integer.h"

#define COMPARE_LOOPS(name, T)                                                                     \
    LOOP_BINARY(equal_##name, uint8_t, T, T, (uint8_t)(x == y))                                    \
    LOOP_BINARY(less_##name, uint8_t, T, T, (uint8_t)(x < y))                                      \
    LOOP_BINARY(less_or_equal_##name, uint8_t, T, T, (uint8_t)(x <= y))
EACH_INTEGER(COMPARE_LOOPS)
COMPARE_LOOPS(float32, float)
COMPARE_LOOPS(float64, double)
LOOP_HALVES(equal, 2, 1)
LOOP_HALVES(less, 2, 1)
LOOP_HALVES(less_or_equal, 2, 1)

LOOP_UNARY(is_nan_float32, uint8_t, float, , (uint8_t)(x != x))
LOOP_UNARY(is_nan_float64, uint8_t, double, , (uint8_t)(x != x))
LOOP_UNARY(is_nan_float16, uint8_t, uint16_t, , (uint8_t)((x & 0x7FFF) > 0x7C00))
LOOP_UNARY(is_nan_bfloat16, uint8_t, uint16_t, , (uint8_t)((x & 0x7FFF) > 0x7F80))

#define IS_INF_LOOP(name, T, s)                                                                    \
    LOOP_UNARY(                                                                                    \
        is_inf_##name, uint8_t, T, const T negative = (T)parameters->alpha;                        \
        const T positive = (T)parameters->beta, (uint8_t)scalar_is_inf_##s(x, negative, positive))
IS_INF_LOOP(float32, float, f32)
IS_INF_LOOP(float64, double, f64)
LOOP_HALVES(is_inf, 1, 1)

/* A bool is any byte: a byte other than 0 is true. Results are 0 or 1. */
LOOP_UNARY(not_bool, uint8_t, uint8_t, , (uint8_t)(x == 0))
LOOP_BINARY(equal_bool, uint8_t, uint8_t, uint8_t, (uint8_t)((x != 0) == (y != 0)))
LOOP_BINARY(and_bool, uint8_t, uint8_t, uint8_t, (uint8_t)((x != 0) & (y != 0)))
LOOP_BINARY(or_bool, uint8_t, uint8_t, uint8_t, (uint8_t)((x != 0) | (y != 0)))
LOOP_BINARY(xor_bool, uint8_t, uint8_t, uint8_t, (uint8_t)((x != 0) ^ (y != 0)))

#define BIT_LOOPS(name, T)                                                                         \
    LOOP_BINARY(and_##name, T, T, T, (T)(x & y))                                                   \
    LOOP_BINARY(or_##name, T, T, T, (T)(x | y))                                                    \
    LOOP_BINARY(xor_##name, T, T, T, (T)(x ^ y))                                                   \
    LOOP_UNARY(bit_not_##name, T, T, , (T)~x)
BIT_LOOPS(8, uint8_t)
BIT_LOOPS(16, uint16_t)
BIT_LOOPS(32, uint32_t)
BIT_LOOPS(64, uint64_t)
#define BIT_ENTRIES(loop)                                                                          \
    {                                                                                              \
        [DTYPE_BOOL] = loop##_bool, [DTYPE_INT8] = loop##_8, [DTYPE_INT16] = loop##_16,            \
        [DTYPE_INT32] = loop##_32, [DTYPE_INT64] = loop##_64, [DTYPE_UINT8] = loop##_8,            \
        [DTYPE_UINT16] = loop##_16, [DTYPE_UINT32] = loop##_32, [DTYPE_UINT64] = loop##_64,        \
    }

/* The bits of all integers but bool. */
#define WHOLE_ENTRIES(loop)                                                                        \
    {                                                                                              \
        [DTYPE_INT8] = loop##_8, [DTYPE_INT16] = loop##_16, [DTYPE_INT32] = loop##_32,             \
        [DTYPE_INT64] = loop##_64, [DTYPE_UINT8] = loop##_8, [DTYPE_UINT16] = loop##_16,           \
        [DTYPE_UINT32] = loop##_32, [DTYPE_UINT64] = loop##_64,                                    \
    }

#define SHIFT_LOOPS(name, T)                                                                       \
    LOOP_BINARY(shift_left_##name, T, T, T, scalar_shift_left_##name(x, y))                        \
    LOOP_BINARY(shift_right_##name, T, T, T, scalar_shift_right_##name(x, y))
EACH_INTEGER(SHIFT_LOOPS)

/* Elements are only copied, so only their size matters. */
#define COPY_LOOP(name, T) LOOP_UNARY(copy_##name, T, T, , x)
COPY_LOOP(8, uint8_t)
COPY_LOOP(16, uint16_t)
COPY_LOOP(32, uint32_t)
COPY_LOOP(64, uint64_t)
#define WHERE_LOOP(name, T)                                                                        \
    LOOP_FUNCTION(where_##name) {                                                                  \
        T *to = out;                                                                               \
        const uint8_t *condition = operands[0].data;                                               \
        const T *a = operands[1].data, *b = operands[2].data;                                      \
        const int64_t a_step = operands[1].step, b_step = operands[2].step;                        \
        if (operands[0].step == 0) {                                                               \
            const T *from = condition[0] ? a : b;                                                  \
            const int64_t step = condition[0] ? a_step : b_step;                                   \
            CPU_EACH(i, count) to[i] = from[i * step];                                             \
        } else if (a_step && b_step) {                                                             \
            CPU_EACH(i, count) {                                                                   \
                T x = a[i], y = b[i];                                                              \
                to[i] = condition[i] ? x : y;                                                      \
            }                                                                                      \
        } else if (a_step) {                                                                       \
            const T y = b[0];                                                                      \
            CPU_EACH(i, count) {                                                                   \
                T x = a[i];                                                                        \
                to[i] = condition[i] ? x : y;                                                      \
            }                                                                                      \
        } else if (b_step) {                                                                       \
            const T x = a[0];                                                                      \
            CPU_EACH(i, count) {                                                                   \
                T y = b[i];                                                                        \
                to[i] = condition[i] ? x : y;                                                      \
            }                                                                                      \
        } else {                                                                                   \
            const T x = a[0], y = b[0];                                                            \
            CPU_EACH(i, count) to[i] = condition[i] ? x : y;                                       \
        }                                                                                          \
    }
WHERE_LOOP(8, uint8_t)
WHERE_LOOP(16, uint16_t)
WHERE_LOOP(32, uint32_t)
WHERE_LOOP(64, uint64_t)

static const LoopRow rows[] = {
    {CPU_LOOP_EQUAL,
        {LOOP_INTEGER_ENTRIES(equal), LOOP_FLOAT_ENTRIES(equal), [DTYPE_BOOL] = equal_bool}},
    LOOP_NUMBER_ROW(LESS, less),
    LOOP_NUMBER_ROW(LESS_OR_EQUAL, less_or_equal),
    LOOP_FLOAT_ROW(IS_NAN, is_nan),
    LOOP_FLOAT_ROW(IS_INF, is_inf),
    {CPU_LOOP_BIT_NOT, WHOLE_ENTRIES(bit_not)},
    {CPU_LOOP_SHIFT_LEFT, {LOOP_INTEGER_ENTRIES(shift_left)}},
    {CPU_LOOP_SHIFT_RIGHT, {LOOP_INTEGER_ENTRIES(shift_right)}},
    {CPU_LOOP_NOT, {[DTYPE_BOOL] = not_bool}},
    {CPU_LOOP_BIT_AND, BIT_ENTRIES(and)},
    {CPU_LOOP_BIT_OR, BIT_ENTRIES(or)},
    {CPU_LOOP_BIT_XOR, BIT_ENTRIES(xor)},
};

CpuLoop *CPU_LOOPS_NAME(cpu_loops_compare)(CpuLoopId id, DType dtype) {
    if (id != CPU_LOOP_WHERE && id != CPU_LOOP_COPY) return LOOP_FIND(rows, id, dtype);
    bool where = id == CPU_LOOP_WHERE;
    if (!dtype_in(DTYPES_POINTWISE, dtype)) return 0;
    switch (dtype_bits(dtype)) {
    case 8:
        return where ? where_8 : copy_8;
    case 16:
        return where ? where_16 : copy_16;
    case 32:
        return where ? where_32 : copy_32;
    case 64:
        return where ? where_64 : copy_64;
    default:
        return 0;
    }
}
