/* Conversions between two element types. Other pairs go through float32 or float64 in several steps
 * (cpu_pointwise_lower.c). */
#include "kernels/cpu/loops/cpu_loops_internal.h"
#include "kernels/cpu/loops/cpu_loops_table.h"
#include "kernels/scalar/scalar_convert.h"
#include "kernels/scalar/scalar_float8.h"

/* Integers wrap, so only the size of the target type matters. */
#define FROM_INTEGER(name, T)                                                                      \
    LOOP_UNARY(name##_to_8, uint8_t, T, , (uint8_t)x)                                              \
    LOOP_UNARY(name##_to_16, uint16_t, T, , (uint16_t)x)                                           \
    LOOP_UNARY(name##_to_32, uint32_t, T, , (uint32_t)x)                                           \
    LOOP_UNARY(name##_to_64, uint64_t, T, , (uint64_t)x)                                           \
    LOOP_UNARY(name##_to_float32, float, T, , (float)x)                                            \
    LOOP_UNARY(name##_to_float64, double, T, , (double)x)                                          \
    LOOP_UNARY(name##_to_bool, uint8_t, T, , (uint8_t)(x != 0))
EACH_INTEGER(FROM_INTEGER)

#define FROM_BOOL(to, T) LOOP_UNARY(bool_to_##to, T, uint8_t, , (T)(x != 0))
FROM_BOOL(8, uint8_t)
FROM_BOOL(16, uint16_t)
FROM_BOOL(32, uint32_t)
FROM_BOOL(64, uint64_t)
FROM_BOOL(float32, float)
FROM_BOOL(float64, double)
FROM_BOOL(bool, uint8_t)

#define FLOAT_TO_INTEGER(name, T)                                                                  \
    LOOP_UNARY(float32_to_##name, T, float, , scalar_f32_to_##name(x))                             \
    LOOP_UNARY(float64_to_##name, T, double, , scalar_f64_to_##name(x))
/* Types within int32: the bounds are clamped as floats, and a NaN becomes 0 before. The results are
 * those of scalar_f32_to_<name>. */
#define FLOAT_TO_SHORT(name, T, LEAST, MOST)                                                       \
    static inline T short_##name(float x) {                                                        \
        const uint32_t number = 0 - (uint32_t)(x == x);                                            \
        float c = scalar_at_most_f32(scalar_make_f32(scalar_bits_f32(x) & number), MOST);          \
        return (T)(int32_t)scalar_at_least_f32(c, LEAST);                                          \
    }                                                                                              \
    LOOP_UNARY(float32_to_##name, T, float, , short_##name(x))                                     \
    LOOP_UNARY(float64_to_##name, T, double, , scalar_f64_to_##name(x))
FLOAT_TO_SHORT(int8, int8_t, -128.0f, 127.0f)
FLOAT_TO_SHORT(uint8, uint8_t, -0.0f, 255.0f)
FLOAT_TO_SHORT(int16, int16_t, -32768.0f, 32767.0f)
FLOAT_TO_SHORT(uint16, uint16_t, -0.0f, 65535.0f)
FLOAT_TO_INTEGER(int32, int32_t)
FLOAT_TO_INTEGER(uint32, uint32_t)

/* Only AVX-512 converts floats to integers of 64 bits. At the other levels a run whose elements all
 * fit int32 goes through it. */
enum { LONG_RUN = 64 };
#define FLOAT_TO_LONG(from_name, s, F, name, T, LEAST)                                             \
    LOOP_FUNCTION(from_name##_to_##name) {                                                         \
        T *to = out;                                                                               \
        const F *from = operands[0].data;                                                          \
        int64_t i = 0;                                                                             \
        for (; CPU_LOOPS_LEVEL < 2 && i + LONG_RUN <= count; i += LONG_RUN) {                      \
            F x[LONG_RUN];                                                                         \
            int outside = 0;                                                                       \
            memcpy(x, from + i, sizeof x); /* out may be the operand */                            \
            for (int k = 0; k < LONG_RUN; k++)                                                     \
                outside |= !(x[k] >= (F)(LEAST)) | !(x[k] < (F)0x1p31);                            \
            if (outside)                                                                           \
                for (int k = 0; k < LONG_RUN; k++) to[i + k] = scalar_##s##_to_##name(x[k]);       \
            else                                                                                   \
                for (int k = 0; k < LONG_RUN; k++) to[i + k] = (T)(int32_t)x[k];                   \
        }                                                                                          \
        CPU_EACH(k, count - i) {                                                                   \
            F x = from[i + k];                                                                     \
            to[i + k] = scalar_##s##_to_##name(x);                                                 \
        }                                                                                          \
    }
FLOAT_TO_LONG(float32, f32, float, int64, int64_t, -0x1p31)
FLOAT_TO_LONG(float64, f64, double, int64, int64_t, -0x1p31)
FLOAT_TO_LONG(float32, f32, float, uint64, uint64_t, 0)
FLOAT_TO_LONG(float64, f64, double, uint64, uint64_t, 0)
LOOP_UNARY(float32_to_bool, uint8_t, float, , (uint8_t)(x != 0.0f))
LOOP_UNARY(float64_to_bool, uint8_t, double, , (uint8_t)(x != 0.0))
LOOP_UNARY(float32_to_float64, double, float, , (double)x)
LOOP_UNARY(float64_to_float32, float, double, , (float)x)

#define HALF_CASTS(half)                                                                           \
    LOOP_FUNCTION(half##_to_float32) { widen_block_##half(out, operands[0].data, count); }         \
    LOOP_FUNCTION(float32_to_##half) { narrow_block_##half(out, operands[0].data, count); }        \
    LOOP_UNARY(float64_to_##half, uint16_t, double, , scalar_narrow_##half(scalar_narrow_to_odd(x)))
HALF_CASTS(float16)
HALF_CASTS(bfloat16)

#define FLOAT8_CASTS(name, form)                                                                   \
    LOOP_UNARY(name##_to_float32, float, uint8_t, , (float)scalar_widen_float8(form, x))           \
    LOOP_UNARY(float64_to_##name, uint8_t, double, , scalar_narrow_float8(form, x, 0))             \
    LOOP_UNARY(float64_to_##name##_saturated, uint8_t, double, , scalar_narrow_float8(form, x, 1))
FLOAT8_CASTS(e4m3fn, SCALAR_E4M3FN)
FLOAT8_CASTS(e4m3fnuz, SCALAR_E4M3FNUZ)
FLOAT8_CASTS(e5m2, SCALAR_E5M2)
FLOAT8_CASTS(e5m2fnuz, SCALAR_E5M2FNUZ)

LOOP_UNARY(sticky_int64, double, int64_t, , scalar_int64_to_sticky(x))
LOOP_UNARY(sticky_uint64, double, uint64_t, , scalar_uint64_to_sticky(x))

/* clang-format off */
#define PLAIN_ENTRIES(from)                                                                        \
    [DTYPE_INT8] = from##_to_8, [DTYPE_UINT8] = from##_to_8, [DTYPE_INT16] = from##_to_16,         \
    [DTYPE_UINT16] = from##_to_16, [DTYPE_INT32] = from##_to_32, [DTYPE_UINT32] = from##_to_32,    \
    [DTYPE_INT64] = from##_to_64, [DTYPE_UINT64] = from##_to_64,                                   \
    [DTYPE_FLOAT32] = from##_to_float32, [DTYPE_FLOAT64] = from##_to_float64,                      \
    [DTYPE_BOOL] = from##_to_bool
#define FLOAT_ENTRIES(from)                                                                        \
    [DTYPE_INT8] = from##_to_int8, [DTYPE_UINT8] = from##_to_uint8,                                \
    [DTYPE_INT16] = from##_to_int16, [DTYPE_UINT16] = from##_to_uint16,                            \
    [DTYPE_INT32] = from##_to_int32, [DTYPE_UINT32] = from##_to_uint32,                            \
    [DTYPE_INT64] = from##_to_int64, [DTYPE_UINT64] = from##_to_uint64,                            \
    [DTYPE_FLOAT16] = from##_to_float16, [DTYPE_BFLOAT16] = from##_to_bfloat16,                    \
    [DTYPE_BOOL] = from##_to_bool
/* clang-format on */

static CpuLoop *const casts[DTYPE_COUNT][DTYPE_COUNT] = {
    [DTYPE_INT8] = {PLAIN_ENTRIES(int8)},
    [DTYPE_INT16] = {PLAIN_ENTRIES(int16)},
    [DTYPE_INT32] = {PLAIN_ENTRIES(int32)},
    [DTYPE_INT64] = {PLAIN_ENTRIES(int64)},
    [DTYPE_UINT8] = {PLAIN_ENTRIES(uint8)},
    [DTYPE_UINT16] = {PLAIN_ENTRIES(uint16)},
    [DTYPE_UINT32] = {PLAIN_ENTRIES(uint32)},
    [DTYPE_UINT64] = {PLAIN_ENTRIES(uint64)},
    [DTYPE_BOOL] = {PLAIN_ENTRIES(bool)},
    [DTYPE_FLOAT32] = {FLOAT_ENTRIES(float32), [DTYPE_FLOAT64] = float32_to_float64},
    [DTYPE_FLOAT64] = {FLOAT_ENTRIES(float64), [DTYPE_FLOAT32] = float64_to_float32,
        [DTYPE_FLOAT8E4M3FN] = float64_to_e4m3fn, [DTYPE_FLOAT8E4M3FNUZ] = float64_to_e4m3fnuz,
        [DTYPE_FLOAT8E5M2] = float64_to_e5m2, [DTYPE_FLOAT8E5M2FNUZ] = float64_to_e5m2fnuz},
    [DTYPE_FLOAT16] = {[DTYPE_FLOAT32] = float16_to_float32},
    [DTYPE_BFLOAT16] = {[DTYPE_FLOAT32] = bfloat16_to_float32},
    [DTYPE_FLOAT8E4M3FN] = {[DTYPE_FLOAT32] = e4m3fn_to_float32},
    [DTYPE_FLOAT8E4M3FNUZ] = {[DTYPE_FLOAT32] = e4m3fnuz_to_float32},
    [DTYPE_FLOAT8E5M2] = {[DTYPE_FLOAT32] = e5m2_to_float32},
    [DTYPE_FLOAT8E5M2FNUZ] = {[DTYPE_FLOAT32] = e5m2fnuz_to_float32},
};

static CpuLoop *const saturated[DTYPE_COUNT] = {
    [DTYPE_FLOAT8E4M3FN] = float64_to_e4m3fn_saturated,
    [DTYPE_FLOAT8E4M3FNUZ] = float64_to_e4m3fnuz_saturated,
    [DTYPE_FLOAT8E5M2] = float64_to_e5m2_saturated,
    [DTYPE_FLOAT8E5M2FNUZ] = float64_to_e5m2fnuz_saturated,
};

CpuLoop *CPU_LOOPS_NAME(cpu_loops_cast)(DType from, DType to, bool saturate) {
    if (saturate && from == DTYPE_FLOAT64 && saturated[to]) return saturated[to];
    return casts[from][to];
}

CpuLoop *CPU_LOOPS_NAME(cpu_loops_sticky)(DType from) {
    if (from == DTYPE_INT64) return sticky_int64;
    return from == DTYPE_UINT64 ? sticky_uint64 : 0;
}
