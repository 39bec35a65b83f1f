/* Reductions with a fixed order of combining.
 *
 * A row goes in blocks of REDUCE_BLOCK elements: within a block LANES partial results (element i
 * belongs to lane i mod LANES) are folded in halves; blocks are combined one after the other in the
 * total's type. Columns are combined in order, REDUCE_ROWS at a time in the element's type. So the
 * bits depend on the length alone, not on the instruction set, the threads or the alignment. */
#include "kernels/cpu/core/cpu_vector.h"
#include "kernels/cpu/loops/cpu_loops_internal.h"
#include "kernels/cpu/loops/cpu_loops_table.h"

enum { LANES = 32, REDUCE_BLOCK = 4096, REDUCE_ROWS = 128, REDUCE_COLUMNS = 256 };

/* COMBINE(a, b) combines scalars, VECTOR_COMBINE vectors; MAP(x) gives an element's summand, for
 * both. Vectors V, which fill a register, make up the lanes. */
#define REDUCE_FLOAT(op, name, T, V, VU, COMBINE, VECTOR_COMBINE, MAP, START)                      \
    static T block_##op##_##name(const void *from, int64_t n) {                                    \
        enum { WIDTH = VECTOR_BYTES / sizeof(T), PARTS = LANES / WIDTH };                          \
        T lanes[LANES];                                                                            \
        int64_t i = 0;                                                                             \
        if (n >= LANES) {                                                                          \
            V parts[PARTS];                                                                        \
            CPU_UNROLL for (int k = 0; k < PARTS; k++) parts[k] = (V){0} + (T)START;               \
            for (; i + LANES <= n; i += LANES) CPU_UNROLL for (int k = 0; k < PARTS; k++) {        \
                    V x = *(const VU *)((const T *)from + i + k * WIDTH);                          \
                    x = MAP(x);                                                                    \
                    parts[k] = VECTOR_COMBINE(parts[k], x);                                        \
                }                                                                                  \
            memcpy(lanes, parts, sizeof lanes);                                                    \
        } else {                                                                                   \
            T total = (T)START;                                                                    \
            for (; i < n; i++) {                                                                   \
                T x = ((const T *)from)[i];                                                        \
                x = MAP(x);                                                                        \
                total = COMBINE(total, x);                                                         \
            }                                                                                      \
            return total;                                                                          \
        }                                                                                          \
        for (int k = 0; i < n; i++, k++) {                                                         \
            T x = ((const T *)from)[i];                                                            \
            x = MAP(x);                                                                            \
            lanes[k] = COMBINE(lanes[k], x);                                                       \
        }                                                                                          \
        for (int width = LANES / 2; width > 0; width /= 2)                                         \
            for (int k = 0; k < width; k++) lanes[k] = COMBINE(lanes[k], lanes[k + width]);        \
        return lanes[0];                                                                           \
    }                                                                                              \
    static void rows_##op##_##name(                                                                \
        CpuTotal *totals, const void *x, int64_t count, int64_t length, int64_t row_stride) {      \
        for (int64_t row = 0; row < count; row++) {                                                \
            const T *from = (const T *)x + row * row_stride;                                       \
            double total = totals[row].f64;                                                        \
            for (int64_t i = 0; i < length; i += REDUCE_BLOCK) {                                   \
                int64_t n = length - i < REDUCE_BLOCK ? length - i : REDUCE_BLOCK;                 \
                double block = (double)block_##op##_##name(from + i, n);                           \
                total = COMBINE(total, block);                                                     \
            }                                                                                      \
            totals[row].f64 = total;                                                               \
        }                                                                                          \
    }                                                                                              \
    static void columns_##op##_##name(                                                             \
        CpuTotal *totals, const void *from, int64_t count, int64_t length, int64_t row_stride) {   \
        T sums[REDUCE_COLUMNS];                                                                    \
        for (int64_t column = 0; column < count; column += REDUCE_COLUMNS) {                       \
            int64_t n = count - column < REDUCE_COLUMNS ? count - column : REDUCE_COLUMNS;         \
            for (int64_t row = 0; row < length; row += REDUCE_ROWS) {                              \
                int64_t end = length - row < REDUCE_ROWS ? length : row + REDUCE_ROWS;             \
                for (int64_t i = 0; i < n; i++) sums[i] = (T)START;                                \
                for (int64_t j = row; j < end; j++) {                                              \
                    const T *line = (const T *)from + j * row_stride + column;                     \
                    CPU_EACH(i, n) {                                                               \
                        T x = line[i];                                                             \
                        x = MAP(x);                                                                \
                        sums[i] = COMBINE(sums[i], x);                                             \
                    }                                                                              \
                }                                                                                  \
                for (int64_t i = 0; i < n; i++) {                                                  \
                    double sum = (double)sums[i];                                                  \
                    totals[column + i].f64 = COMBINE(totals[column + i].f64, sum);                 \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

/* Compilers compare the lanes of a vector that is wider than a register one by one. */
enum { VECTOR_BYTES = 16 << CPU_LOOPS_LEVEL };
typedef float F32 __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t I32 __attribute__((vector_size(VECTOR_BYTES)));
typedef float F32Unaligned __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef double F64 __attribute__((vector_size(VECTOR_BYTES)));
typedef int64_t I64 __attribute__((vector_size(VECTOR_BYTES)));
typedef double F64Unaligned __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));

static inline __attribute__((always_inline)) F32 magnitude_f32(F32 x) {
    return (F32)((I32)x & 0x7FFFFFFF);
}
static inline __attribute__((always_inline)) F64 magnitude_f64(F64 x) {
    return (F64)((I64)x & INT64_MAX);
}
#define MAGNITUDE(x)                                                                               \
    _Generic((x), float                                                                            \
             : scalar_abs_f32, double                                                              \
             : scalar_abs_f64, F32                                                                 \
             : magnitude_f32, F64                                                                  \
             : magnitude_f64)(x)

#define ADD(a, b) ((a) + (b))
#define MULTIPLY(a, b) ((a) * (b))
#define SAME(x) (x)
#define SQUARE(x) ((x) * (x))
/* a NaN wins and stays */
#define LARGER(a, b) ((b) > (a) || (b) != (b) ? (b) : (a))
#define SMALLER(a, b) ((b) < (a) || (b) != (b) ? (b) : (a))
#define PICK(V, I, mask, a, b) ((V)(((I)(b) & (mask)) | ((I)(a) & ~(mask))))
#define LARGER_F32(a, b) PICK(F32, I32, ((b) > (a)) | ((b) != (b)), a, b)
#define SMALLER_F32(a, b) PICK(F32, I32, ((b) < (a)) | ((b) != (b)), a, b)
#define LARGER_F64(a, b) PICK(F64, I64, ((b) > (a)) | ((b) != (b)), a, b)
#define SMALLER_F64(a, b) PICK(F64, I64, ((b) < (a)) | ((b) != (b)), a, b)

#define REDUCE_F32(op, COMBINE, VECTOR_COMBINE, MAP, START)                                        \
    REDUCE_FLOAT(op, float32, float, F32, F32Unaligned, COMBINE, VECTOR_COMBINE, MAP, START)
#define REDUCE_F64(op, COMBINE, VECTOR_COMBINE, MAP, START)                                        \
    REDUCE_FLOAT(op, float64, double, F64, F64Unaligned, COMBINE, VECTOR_COMBINE, MAP, START)
REDUCE_F32(sum, ADD, ADD, SAME, 0)
REDUCE_F64(sum, ADD, ADD, SAME, 0)
REDUCE_F32(sum_square, ADD, ADD, SQUARE, 0)
REDUCE_F64(sum_square, ADD, ADD, SQUARE, 0)
REDUCE_F32(sum_abs, ADD, ADD, MAGNITUDE, 0)
REDUCE_F64(sum_abs, ADD, ADD, MAGNITUDE, 0)
REDUCE_F32(max, LARGER, LARGER_F32, SAME, -__builtin_inf())
REDUCE_F64(max, LARGER, LARGER_F64, SAME, -__builtin_inf())
REDUCE_F32(min, SMALLER, SMALLER_F32, SAME, __builtin_inf())
REDUCE_F64(min, SMALLER, SMALLER_F64, SAME, __builtin_inf())
REDUCE_F64(prod, MULTIPLY, MULTIPLY, SAME, 1)

/* 16-bit floats, and products of float32 (which soon leave float32's range), are widened block by
 * block. Each wide block is a row of its own, so a row's order is that of the wide type. */
#define REDUCE_WIDENED(op, name, T, WIDE, wide, widen)                                             \
    static void rows_##op##_##name(                                                                \
        CpuTotal *totals, const void *x, int64_t count, int64_t length, int64_t row_stride) {      \
        WIDE block[REDUCE_BLOCK];                                                                  \
        for (int64_t row = 0; row < count; row++)                                                  \
            for (int64_t i = 0; i < length; i += REDUCE_BLOCK) {                                   \
                const T *from = (const T *)x + row * row_stride + i;                               \
                int64_t n = length - i < REDUCE_BLOCK ? length - i : REDUCE_BLOCK;                 \
                CPU_EACH(k, n) block[k] = widen(from[k]);                                          \
                rows_##op##_##wide(totals + row, block, 1, n, 0);                                  \
            }                                                                                      \
    }                                                                                              \
    static void columns_##op##_##name(                                                             \
        CpuTotal *totals, const void *x, int64_t count, int64_t length, int64_t row_stride) {      \
        enum { ROWS = 16 };                                                                        \
        WIDE block[ROWS * REDUCE_COLUMNS];                                                         \
        for (int64_t column = 0; column < count; column += REDUCE_COLUMNS) {                       \
            int64_t n = count - column < REDUCE_COLUMNS ? count - column : REDUCE_COLUMNS;         \
            for (int64_t row = 0; row < length; row += ROWS) {                                     \
                int64_t rows = length - row < ROWS ? length - row : ROWS;                          \
                for (int64_t j = 0; j < rows; j++) {                                               \
                    const T *from = (const T *)x + (row + j) * row_stride + column;                \
                    CPU_EACH(k, n) block[j * n + k] = widen(from[k]);                              \
                }                                                                                  \
                columns_##op##_##wide(totals + column, block, n, rows, n);                         \
            }                                                                                      \
        }                                                                                          \
    }
#define REDUCE_HALF(op, wide, WIDE)                                                                \
    REDUCE_WIDENED(op, float16, uint16_t, WIDE, wide, scalar_widen_float16)                        \
    REDUCE_WIDENED(op, bfloat16, uint16_t, WIDE, wide, scalar_widen_bfloat16)
REDUCE_HALF(sum, float32, float)
REDUCE_HALF(sum_square, float32, float)
REDUCE_HALF(sum_abs, float32, float)
REDUCE_HALF(max, float32, float)
REDUCE_HALF(min, float32, float)
REDUCE_HALF(prod, float64, double)
REDUCE_WIDENED(prod, float32, float, double, float64, (double))

/* Integers wrap in 64 bits: any order gives the same bits. A: the total's member. */
#define REDUCE_INTEGER(op, name, T, A, WIDE, COMBINE)                                              \
    static void rows_##op##_##name(                                                                \
        CpuTotal *totals, const void *x, int64_t count, int64_t length, int64_t row_stride) {      \
        for (int64_t row = 0; row < count; row++) {                                                \
            const T *from = (const T *)x + row * row_stride;                                       \
            WIDE total = (WIDE)totals[row].A;                                                      \
            for (int64_t i = 0; i < length; i++) {                                                 \
                WIDE y = (WIDE)from[i];                                                            \
                total = COMBINE(total, y);                                                         \
            }                                                                                      \
            totals[row].u64 = (uint64_t)total;                                                     \
        }                                                                                          \
    }                                                                                              \
    static void columns_##op##_##name(                                                             \
        CpuTotal *totals, const void *x, int64_t count, int64_t length, int64_t row_stride) {      \
        for (int64_t j = 0; j < length; j++) {                                                     \
            const T *from = (const T *)x + j * row_stride;                                         \
            for (int64_t i = 0; i < count; i++) {                                                  \
                WIDE y = (WIDE)from[i], total = (WIDE)totals[i].A;                                 \
                totals[i].u64 = (uint64_t)(COMBINE(total, y));                                     \
            }                                                                                      \
        }                                                                                          \
    }
#define ADD_SQUARE(a, b) ((a) + (b) * (b))
/* b is widened with its sign */
#define ADD_MAGNITUDE(a, b) ((a) + ((int64_t)(b) < 0 ? 0 - (b) : (b)))
#define REDUCE_INTEGERS(name, T, A, WIDE, MAGNITUDES)                                              \
    REDUCE_INTEGER(sum, name, T, A, uint64_t, ADD)                                                 \
    REDUCE_INTEGER(sum_square, name, T, A, uint64_t, ADD_SQUARE)                                   \
    REDUCE_INTEGER(sum_abs, name, T, A, uint64_t, MAGNITUDES)                                      \
    REDUCE_INTEGER(prod, name, T, A, uint64_t, MULTIPLY)                                           \
    REDUCE_INTEGER(max, name, T, A, WIDE, LARGER)                                                  \
    REDUCE_INTEGER(min, name, T, A, WIDE, SMALLER)
REDUCE_INTEGERS(int8, int8_t, i64, int64_t, ADD_MAGNITUDE)
REDUCE_INTEGERS(int16, int16_t, i64, int64_t, ADD_MAGNITUDE)
REDUCE_INTEGERS(int32, int32_t, i64, int64_t, ADD_MAGNITUDE)
REDUCE_INTEGERS(int64, int64_t, i64, int64_t, ADD_MAGNITUDE)
REDUCE_INTEGERS(uint8, uint8_t, u64, uint64_t, ADD)
REDUCE_INTEGERS(uint16, uint16_t, u64, uint64_t, ADD)
REDUCE_INTEGERS(uint32, uint32_t, u64, uint64_t, ADD)
REDUCE_INTEGERS(uint64, uint64_t, u64, uint64_t, ADD)

#define ENTRY(DTYPE, op, name, member, start)                                                      \
    [DTYPE] = {rows_##op##_##name, columns_##op##_##name, {.member = start}}
/* clang-format off */
#define ENTRIES(op, real, integer, natural)                                                        \
    {                                                                                              \
        ENTRY(DTYPE_FLOAT32, op, float32, f64, real), ENTRY(DTYPE_FLOAT64, op, float64, f64, real),\
        ENTRY(DTYPE_FLOAT16, op, float16, f64, real),                                              \
        ENTRY(DTYPE_BFLOAT16, op, bfloat16, f64, real),                                            \
        ENTRY(DTYPE_INT8, op, int8, i64, integer), ENTRY(DTYPE_INT16, op, int16, i64, integer),    \
        ENTRY(DTYPE_INT32, op, int32, i64, integer), ENTRY(DTYPE_INT64, op, int64, i64, integer),  \
        ENTRY(DTYPE_UINT8, op, uint8, u64, natural), ENTRY(DTYPE_UINT16, op, uint16, u64, natural),\
        ENTRY(DTYPE_UINT32, op, uint32, u64, natural),                                             \
        ENTRY(DTYPE_UINT64, op, uint64, u64, natural),                                             \
        ENTRY(DTYPE_BOOL, op, uint8, u64, natural),                                                \
    }
/* clang-format on */

static const CpuReducer reducers[CPU_REDUCTION_COUNT][DTYPE_COUNT] = {
    [CPU_REDUCE_SUM] = ENTRIES(sum, 0, 0, 0),
    [CPU_REDUCE_SUM_SQUARE] = ENTRIES(sum_square, 0, 0, 0),
    [CPU_REDUCE_SUM_ABS] = ENTRIES(sum_abs, 0, 0, 0),
    [CPU_REDUCE_PROD] = ENTRIES(prod, 1, 1, 1),
    [CPU_REDUCE_MAX] = ENTRIES(max, -__builtin_inf(), INT64_MIN, 0),
    [CPU_REDUCE_MIN] = ENTRIES(min, __builtin_inf(), INT64_MAX, UINT64_MAX),
};

const CpuReducer *CPU_LOOPS_NAME(cpu_loops_reduce)(CpuReduction reduction, DType dtype) {
    const CpuReducer *reducer = &reducers[reduction][dtype];
    return reducer->rows ? reducer : 0;
}
