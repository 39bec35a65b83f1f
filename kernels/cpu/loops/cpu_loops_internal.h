#pragma once
/* The macros that the loop sources share: they write a loop so that compilers vectorise it, and
 * pass 16-bit floats through float32. Pure: no state.
 *
 * Included only by cpu_loops_<family>.c, each of which is compiled once for each level. */
#include "kernels/cpu/loops/cpu_loops.h"
#include "kernels/scalar/scalar_half.h"
#include "kernels/tensor/dtype.h"

#if CPU_LOOPS_LEVEL > 0
#include <immintrin.h>
#endif

#if CPU_LOOPS_LEVEL == 0
#define CPU_LOOPS_NAME(name) name##_portable
#elif CPU_LOOPS_LEVEL == 1
#define CPU_LOOPS_NAME(name) name##_avx2
#else
#define CPU_LOOPS_NAME(name) name##_avx512
#endif

/* Operands are either out itself or do not overlap it, so no iteration waits for another. */
#if defined(__clang__)
#define CPU_EACH(i, n)                                                                             \
    _Pragma("clang loop vectorize(assume_safety)") for (int64_t i = 0; i < (n); i++)
#else
#define CPU_EACH(i, n) _Pragma("GCC ivdep") for (int64_t i = 0; i < (n); i++)
#endif

#define LOOP_FUNCTION(name)                                                                        \
    static void name(void *out, const CpuOperand *operands, int64_t count,                         \
        __attribute__((unused)) const CpuParameters *parameters)

/* expression of x; R and T: element types of the result and the operand. */
#define LOOP_UNARY(name, R, T, prepare, expression)                                                \
    LOOP_FUNCTION(name) {                                                                          \
        R *to = out;                                                                               \
        const T *from = operands[0].data;                                                          \
        prepare;                                                                                   \
        CPU_EACH(i, count) {                                                                       \
            T x = from[i];                                                                         \
            to[i] = expression;                                                                    \
        }                                                                                          \
    }

/* expression of x and y, of types T and Y. */
#define LOOP_BINARY(name, R, T, Y, expression)                                                     \
    LOOP_FUNCTION(name) {                                                                          \
        R *to = out;                                                                               \
        const T *a = operands[0].data;                                                             \
        const Y *b = operands[1].data;                                                             \
        if (operands[0].step == 0) {                                                               \
            const T x = a[0];                                                                      \
            CPU_EACH(i, count) {                                                                   \
                Y y = b[i];                                                                        \
                to[i] = expression;                                                                \
            }                                                                                      \
        } else if (operands[1].step == 0) {                                                        \
            const Y y = b[0];                                                                      \
            CPU_EACH(i, count) {                                                                   \
                T x = a[i];                                                                        \
                to[i] = expression;                                                                \
            }                                                                                      \
        } else {                                                                                   \
            CPU_EACH(i, count) {                                                                   \
                T x = a[i];                                                                        \
                Y y = b[i];                                                                        \
                to[i] = expression;                                                                \
            }                                                                                      \
        }                                                                                          \
    }

/* Elements of 16-bit floats converted at a time: three float32 blocks stay in the first-level
 * cache. */
enum { CPU_HALF_BLOCK = 512 };

/* What the processor's own instructions convert from the block's start; the result is how many
 * elements they are. They round as the scalar functions do, and quiet a NaN; a narrowed NaN is made
 * the canonical one. */
static inline int64_t widen_whole_float16(float *to, const uint16_t *from, int64_t count) {
    int64_t i = 0;
#if CPU_LOOPS_LEVEL > 0
    for (; i + 8 <= count; i += 8)
        _mm256_storeu_ps(
            to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(from + i))));
#else
    (void)to, (void)from, (void)count;
#endif
    return i;
}
static inline int64_t narrow_whole_float16(uint16_t *to, const float *from, int64_t count) {
    int64_t i = 0;
#if CPU_LOOPS_LEVEL > 0
    const __m128i nan = _mm_set1_epi16(0x7E00);
    for (; i + 8 <= count; i += 8) {
        const __m256 x = _mm256_loadu_ps(from + i);
        const __m256i ordered = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_ORD_Q));
        const __m128i is_number =
            _mm_packs_epi32(_mm256_castsi256_si128(ordered), _mm256_extracti128_si256(ordered, 1));
        const __m128i half = _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        _mm_storeu_si128((__m128i *)(void *)(to + i), _mm_blendv_epi8(nan, half, is_number));
    }
#else
    (void)to, (void)from, (void)count;
#endif
    return i;
}
/* bfloat16 has none before AVX512. */
static inline int64_t widen_whole_bfloat16(float *to, const uint16_t *from, int64_t count) {
    (void)to, (void)from, (void)count;
    return 0;
}
static inline int64_t narrow_whole_bfloat16(uint16_t *to, const float *from, int64_t count) {
    (void)to, (void)from, (void)count;
    return 0;
}

#define HALF_BLOCKS(half)                                                                          \
    static void widen_block_##half(float *to, const uint16_t *from, int64_t count) {               \
        const int64_t whole = widen_whole_##half(to, from, count);                                 \
        to += whole, from += whole;                                                                \
        CPU_EACH(i, count - whole) to[i] = scalar_widen_##half(from[i]);                           \
    }                                                                                              \
    __attribute__((unused)) static void narrow_block_##half(                                       \
        uint16_t *to, const float *from, int64_t count) {                                          \
        const int64_t whole = narrow_whole_##half(to, from, count);                                \
        to += whole, from += whole;                                                                \
        CPU_EACH(i, count - whole) to[i] = scalar_narrow_##half(from[i]);                          \
    }                                                                                              \
    /* Widens the elements of an operand that the block [begin, begin + count) reads. */           \
    __attribute__((unused)) static CpuOperand widen_operand_##half(                                \
        float *block, const CpuOperand *operand, int64_t begin, int64_t count) {                   \
        const uint16_t *from = (const uint16_t *)operand->data + begin * operand->step;            \
        widen_block_##half(block, from, operand->step ? count : 1);                                \
        return (CpuOperand){block, operand->step};                                                 \
    }                                                                                              \
    /* A float32 loop run over 16-bit operands; result_size 2: the result is narrowed too. */      \
    __attribute__((unused)) static void half_loop_##half(CpuLoop *loop, uint32_t operand_count,    \
        size_t result_size, void *out, const CpuOperand *operands, int64_t count,                  \
        const CpuParameters *parameters) {                                                         \
        float blocks[CPU_LOOP_OPERANDS_MAX][CPU_HALF_BLOCK];                                       \
        CpuOperand wide[CPU_LOOP_OPERANDS_MAX];                                                    \
        for (int64_t begin = 0; begin < count; begin += CPU_HALF_BLOCK) {                          \
            int64_t n = count - begin < CPU_HALF_BLOCK ? count - begin : CPU_HALF_BLOCK;           \
            for (uint32_t k = 0; k < operand_count; k++)                                           \
                wide[k] = widen_operand_##half(blocks[k], &operands[k], begin, n);                 \
            if (result_size == 1) {                                                                \
                loop((uint8_t *)out + begin, wide, n, parameters);                                 \
            } else {                                                                               \
                float result[CPU_HALF_BLOCK];                                                      \
                loop(result, wide, n, parameters);                                                 \
                narrow_block_##half((uint16_t *)out + begin, result, n);                           \
            }                                                                                      \
        }                                                                                          \
    }
HALF_BLOCKS(float16)
HALF_BLOCKS(bfloat16)

/* loop##_float16 and loop##_bfloat16 from loop##_float32. */
#define LOOP_HALVES(loop, operand_count, result_size)                                              \
    LOOP_FUNCTION(loop##_float16) {                                                                \
        half_loop_float16(                                                                         \
            loop##_float32, operand_count, result_size, out, operands, count, parameters);         \
    }                                                                                              \
    LOOP_FUNCTION(loop##_bfloat16) {                                                               \
        half_loop_bfloat16(                                                                        \
            loop##_float32, operand_count, result_size, out, operands, count, parameters);         \
    }

/* DO(argument, name, T) for each integer type. */
#define EACH_INTEGER_WITH(DO, argument)                                                            \
    DO(argument, int8, int8_t)                                                                     \
    DO(argument, int16, int16_t)                                                                   \
    DO(argument, int32, int32_t)                                                                   \
    DO(argument, int64, int64_t)                                                                   \
    DO(argument, uint8, uint8_t)                                                                   \
    DO(argument, uint16, uint16_t)                                                                 \
    DO(argument, uint32, uint32_t)                                                                 \
    DO(argument, uint64, uint64_t)
/* DO(name, T) for each integer type. */
#define EACH_INTEGER(DO) EACH_INTEGER_WITH(EACH_INTEGER_PLAIN, DO)
#define EACH_INTEGER_PLAIN(DO, name, T) DO(name, T)

/* The loops of a scalar function, by the form of its operator (elementwise.def). */
#define LOOP_NOTHING(T)
#define LOOP_ALPHA(T) const T alpha = (T)parameters->alpha
#define LOOP_ALPHA_BETA(T) LOOP_ALPHA(T), beta = (T)parameters->beta
#define LOOPS_FLOAT1_WITH(function, PREPARE, ...)                                                  \
    LOOP_UNARY(                                                                                    \
        function##_float32, float, float, PREPARE(float), scalar_##function##_f32(__VA_ARGS__))    \
    LOOP_UNARY(                                                                                    \
        function##_float64, double, double, PREPARE(double), scalar_##function##_f64(__VA_ARGS__)) \
    LOOP_HALVES(function, 1, 2)
#define LOOPS_FLOAT1(function) LOOPS_FLOAT1_WITH(function, LOOP_NOTHING, x)
#define LOOPS_FLOAT1A(function) LOOPS_FLOAT1_WITH(function, LOOP_ALPHA, x, alpha)
#define LOOPS_FLOAT1AB(function) LOOPS_FLOAT1_WITH(function, LOOP_ALPHA_BETA, x, alpha, beta)
#define LOOP_INTEGER1(function, name, T)                                                           \
    LOOP_UNARY(function##_##name, T, T, , scalar_##function##_##name(x))
#define LOOP_INTEGER2(function, name, T)                                                           \
    LOOP_BINARY(function##_##name, T, T, T, scalar_##function##_##name(x, y))
#define LOOPS_NUMBER1(function)                                                                    \
    EACH_INTEGER_WITH(LOOP_INTEGER1, function)                                                     \
    LOOPS_FLOAT1(function)
#define LOOPS_NUMBER2(function)                                                                    \
    EACH_INTEGER_WITH(LOOP_INTEGER2, function)                                                     \
    LOOP_BINARY(function##_float32, float, float, float, scalar_##function##_f32(x, y))            \
    LOOP_BINARY(function##_float64, double, double, double, scalar_##function##_f64(x, y))         \
    LOOP_HALVES(function, 2, 2)
#define LOOPS_FLOAT2A(function)                                                                    \
    LOOP_BINARY(function##_float32, float, float, float,                                           \
        scalar_##function##_f32(x, y, (float)parameters->alpha))                                   \
    LOOP_BINARY(function##_float64, double, double, double,                                        \
        scalar_##function##_f64(x, y, (double)parameters->alpha))                                  \
    LOOP_HALVES(function, 2, 2)

/* Entries of a table indexed by DType. */
#define LOOP_INTEGER_ENTRIES(loop)                                                                 \
    [DTYPE_INT8] = loop##_int8, [DTYPE_INT16] = loop##_int16, [DTYPE_INT32] = loop##_int32,        \
    [DTYPE_INT64] = loop##_int64, [DTYPE_UINT8] = loop##_uint8, [DTYPE_UINT16] = loop##_uint16,    \
    [DTYPE_UINT32] = loop##_uint32, [DTYPE_UINT64] = loop##_uint64
#define LOOP_FLOAT_ENTRIES(loop)                                                                   \
    [DTYPE_FLOAT32] = loop##_float32, [DTYPE_FLOAT64] = loop##_float64,                            \
    [DTYPE_FLOAT16] = loop##_float16, [DTYPE_BFLOAT16] = loop##_bfloat16

/* A source's loops: only its own, since every pointer of a table costs each process a relocation
 * and every page of it a copy. */
typedef struct LoopRow {
    CpuLoopId id;
    CpuLoop *loops[DTYPE_COUNT];
} LoopRow;
#define LOOP_FLOAT_ROW(name, loop)                                                                 \
    {                                                                                              \
        CPU_LOOP_##name, { LOOP_FLOAT_ENTRIES(loop) }                                              \
    }
#define LOOP_NUMBER_ROW(name, loop)                                                                \
    {                                                                                              \
        CPU_LOOP_##name, { LOOP_INTEGER_ENTRIES(loop), LOOP_FLOAT_ENTRIES(loop) }                  \
    }

/* Rows of a table, by form. */
#define LOOP_ROW_FLOAT1(id, function) LOOP_FLOAT_ROW(id, function),
#define LOOP_ROW_FLOAT1A(id, function) LOOP_FLOAT_ROW(id, function),
#define LOOP_ROW_FLOAT1AB(id, function) LOOP_FLOAT_ROW(id, function),
#define LOOP_ROW_ANGLE(id, function) LOOP_FLOAT_ROW(id, function),
#define LOOP_ROW_NUMBER1(id, function) LOOP_NUMBER_ROW(id, function),

/* Looks the loop up in the table `rows` of a source; NULL: the table has none. */
#define LOOP_FIND(rows, id, dtype) loop_find(rows, sizeof(rows) / sizeof *(rows), id, dtype)
__attribute__((unused)) static CpuLoop *loop_find(
    const LoopRow *rows, size_t count, CpuLoopId id, DType dtype) {
    for (size_t i = 0; i < count; i++)
        if (rows[i].id == id) return rows[i].loops[dtype];
    return 0;
}
