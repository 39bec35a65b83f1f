#include "kernels/cpu/pool/cpu_pool_row.h"

#include "kernels/cpu/core/cpu_vector.h"

/* The number of steps by `stride` from `from` on that stay below `end`, at most count. */
CPU_INLINE int64_t steps_below(int64_t from, int64_t end, int64_t stride, int64_t count) {
    const int64_t steps = from >= end ? 0 : (end - from + stride - 1) / stride;
    return steps < count ? steps : count;
}

#define DEFINE_TAKE(name, T, combine)                                                              \
    CPU_INLINE void name##_body(                                                                   \
        const void *x_, int64_t start, int64_t stride, int64_t size, int64_t count, void *y_) {    \
        const T *x = x_;                                                                           \
        T *y = y_;                                                                                 \
        const int64_t from = steps_below(start, 0, stride, count);                                 \
        const int64_t to = steps_below(start, size, stride, count);                                \
        if (stride == 1) {                                                                         \
            for (int64_t i = from; i < to; i++) {                                                  \
                const T a = y[i], b = x[start + i];                                                \
                y[i] = combine;                                                                    \
            }                                                                                      \
        } else if (stride == 2) {                                                                  \
            for (int64_t i = from; i < to; i++) {                                                  \
                const T a = y[i], b = x[start + 2 * i];                                            \
                y[i] = combine;                                                                    \
            }                                                                                      \
        } else {                                                                                   \
            for (int64_t i = from; i < to; i++) {                                                  \
                const T a = y[i], b = x[start + stride * i];                                       \
                y[i] = combine;                                                                    \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    CPU_VARIANTS(name,                                                                             \
        (const void *x, int64_t start, int64_t stride, int64_t size, int64_t count, void *y),      \
        (x, start, stride, size, count, y));                                                       \
    struct take_needs_semicolon

#define DEFINE_START(name, T, value)                                                               \
    static void name(void *y, int64_t count) {                                                     \
        for (int64_t i = 0; i < count; i++) ((T *)y)[i] = (value);                                 \
    }                                                                                              \
    struct start_needs_semicolon

#define DEFINE_SAME(name, T)                                                                       \
    static bool name(const void *a_, const void *b_) {                                             \
        const T a = *(const T *)a_, b = *(const T *)b_;                                            \
        return a == b || (a != a && b != b);                                                       \
    }                                                                                              \
    struct same_needs_semicolon

#define DEFINE_DIVIDE(name, T)                                                                     \
    CPU_INLINE void name##_body(void *y, int64_t count, int64_t divisor) {                         \
        for (int64_t i = 0; i < count; i++) ((T *)y)[i] /= (T)divisor;                             \
    }                                                                                              \
    CPU_VARIANTS(name, (void *y, int64_t count, int64_t divisor), (y, count, divisor));            \
    struct divide_needs_semicolon

/* a NaN wins */
DEFINE_TAKE(max_f32, float, b > a || b != b ? b : a);
DEFINE_TAKE(max_f64, double, b > a || b != b ? b : a);
DEFINE_TAKE(max_i8, int8_t, b > a ? b : a);
DEFINE_TAKE(max_u8, uint8_t, b > a ? b : a);
DEFINE_TAKE(add_f32, float, a + b);
DEFINE_TAKE(add_f64, double, a + b);
DEFINE_START(lowest_f32, float, -__builtin_inff());
DEFINE_START(lowest_f64, double, -__builtin_inf());
DEFINE_START(lowest_i8, int8_t, INT8_MIN);
DEFINE_START(lowest_u8, uint8_t, 0);
DEFINE_START(zero_f32, float, 0);
DEFINE_START(zero_f64, double, 0);
DEFINE_SAME(same_f32, float);
DEFINE_SAME(same_f64, double);
DEFINE_SAME(same_i8, int8_t);
DEFINE_SAME(same_u8, uint8_t);
DEFINE_DIVIDE(divide_f32, float);
DEFINE_DIVIDE(divide_f64, double);

/* maxima divide nothing */
#define no_divide_portable NULL
#define no_divide_avx2 NULL
#define no_divide_avx512 NULL

#if defined(__x86_64__)
#define LEVELS(start, take, divide, same)                                                          \
    {                                                                                              \
        {start, take##_portable, divide##_portable, same},                                         \
            {start, take##_avx2, divide##_avx2, same}, {                                           \
            start, take##_avx512, divide##_avx512, same                                            \
        }                                                                                          \
    }
#else
#define LEVELS(start, take, divide, same)                                                          \
    {                                                                                              \
        {start, take##_portable, divide##_portable, same},                                         \
            {start, take##_portable, divide##_portable, same}, {                                   \
            start, take##_portable, divide##_portable, same                                        \
        }                                                                                          \
    }
#endif

const CpuPoolRow *cpu_pool_row_for(CpuLevel level, DType dtype, bool is_average) {
    static const CpuPoolRow max_rows[4][3] = {
        LEVELS(lowest_f32, max_f32, no_divide, same_f32),
        LEVELS(lowest_f64, max_f64, no_divide, same_f64),
        LEVELS(lowest_i8, max_i8, no_divide, same_i8),
        LEVELS(lowest_u8, max_u8, no_divide, same_u8),
    };
    static const CpuPoolRow average_rows[2][3] = {
        LEVELS(zero_f32, add_f32, divide_f32, same_f32),
        LEVELS(zero_f64, add_f64, divide_f64, same_f64),
    };
    if (dtype == DTYPE_FLOAT32) return is_average ? &average_rows[0][level] : &max_rows[0][level];
    if (dtype == DTYPE_FLOAT64) return is_average ? &average_rows[1][level] : &max_rows[1][level];
    if (is_average) return NULL;
    if (dtype == DTYPE_INT8) return &max_rows[2][level];
    return dtype == DTYPE_UINT8 ? &max_rows[3][level] : NULL;
}
