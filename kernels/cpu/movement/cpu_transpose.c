#include "kernels/cpu/movement/cpu_transpose.h"

#include "kernels/cpu/core/cpu_vector.h"

typedef uint32_t __attribute__((may_alias, aligned(1))) Element;
typedef uint32_t Vector4 __attribute__((vector_size(16)));
typedef uint32_t Vector8 __attribute__((vector_size(32)));
typedef uint32_t Vector16 __attribute__((vector_size(64)));
typedef Vector4 __attribute__((may_alias, aligned(1))) Unaligned4;
typedef Vector8 __attribute__((may_alias, aligned(1))) Unaligned8;
typedef Vector16 __attribute__((may_alias, aligned(1))) Unaligned16;
#define LOW_4(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH_4(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define LOW_8(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_8(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOW_16(a, b)                                                                               \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH_16(a, b)                                                                              \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)

/* Interleaves row i of `count` with row i + count/2. After log2(count) times the rows' first
 * elements come first, then their second ones: a square of n × n is transposed. */
#define INTERLEAVE_ROWS(n, count, to, from)                                                        \
    CPU_UNROLL for (int i = 0; i < (count) / 2; i++) {                                             \
        to[2 * i] = LOW_##n(from[i], from[i + (count) / 2]);                                       \
        to[2 * i + 1] = HIGH_##n(from[i], from[i + (count) / 2]);                                  \
    }
#define INTERLEAVE(n, to, from) INTERLEAVE_ROWS(n, n, to, from)
#define INTERLEAVE_2_TIMES(n, a, b) INTERLEAVE(n, b, a) INTERLEAVE(n, a, b)
#define INTERLEAVE_ALL_4(a, b) INTERLEAVE_2_TIMES(4, a, b)
#define INTERLEAVE_ALL_8(a, b)                                                                     \
    INTERLEAVE_2_TIMES(8, a, b)                                                                    \
    INTERLEAVE(8, b, a)                                                                            \
    CPU_UNROLL for (int i = 0; i < 8; i++) a[i] = b[i];
#define INTERLEAVE_ALL_16(a, b) INTERLEAVE_2_TIMES(16, a, b) INTERLEAVE_2_TIMES(16, a, b)

/* Transposes two, four or eight columns that fill `to` without a gap, as in a shuffle of channels:
 * `rows` elements of each, at least n. The last vectors may overlap the ones before. */
#define DEFINE_INTERLEAVED(n, TARGET)                                                              \
    TARGET CPU_INLINE void interleave_with_##n(char *restrict to, const char *restrict from,       \
        int64_t from_step, int64_t rows, const int columns) {                                      \
        for (int64_t j = 0;; j = j + n < rows - n ? j + n : rows - n) {                            \
            Vector##n a[8], b[8];                                                                  \
            CPU_UNROLL for (int i = 0; i < columns; i++) a[i] =                                    \
                *(const Unaligned##n *)(from + i * from_step + j * 4);                             \
            INTERLEAVE_ROWS(n, columns, b, a);                                                     \
            if (columns > 2) INTERLEAVE_ROWS(n, columns, a, b);                                    \
            if (columns > 4) INTERLEAVE_ROWS(n, columns, b, a);                                    \
            CPU_UNROLL for (int i = 0; i < columns; i++) *                                         \
                (Unaligned##n *)(to + (j * columns + i * n) * 4) = columns == 4 ? a[i] : b[i];     \
            if (j == rows - n) return;                                                             \
        }                                                                                          \
    }                                                                                              \
    TARGET static bool interleave_##n(char *restrict to, const char *restrict from,                \
        int64_t from_step, int64_t rows, int64_t columns) {                                        \
        if (rows < n) return false;                                                                \
        if (columns == 2)                                                                          \
            interleave_with_##n(to, from, from_step, rows, 2);                                     \
        else if (columns == 4)                                                                     \
            interleave_with_##n(to, from, from_step, rows, 4);                                     \
        else if (columns == 8)                                                                     \
            interleave_with_##n(to, from, from_step, rows, 8);                                     \
        else                                                                                       \
            return false;                                                                          \
        return true;                                                                               \
    }                                                                                              \
    struct interleaved_needs_semicolon

/* The edges that fit no square go to the next smaller squares. */
#define DEFINE_TRANSPOSE(n, TARGET, smaller)                                                       \
    TARGET CPU_INLINE void square_##n(                                                             \
        char *restrict to, int64_t to_step, const char *restrict from, int64_t from_step) {        \
        Vector##n rows[n], next[n];                                                                \
        CPU_UNROLL for (int i = 0; i < n; i++) rows[i] =                                           \
            *(const Unaligned##n *)(from + i * from_step);                                         \
        INTERLEAVE_ALL_##n(rows, next);                                                            \
        CPU_UNROLL for (int i = 0; i < n; i++) * (Unaligned##n *)(to + i * to_step) = rows[i];     \
    }                                                                                              \
    TARGET static void transpose_##n(char *restrict to, int64_t to_step,                           \
        const char *restrict from, int64_t from_step, int64_t rows, int64_t columns) {             \
        const int64_t height = rows / n * n, width = columns / n * n;                              \
        if (to_step == columns * 4 && interleave_##n(to, from, from_step, rows, columns)) return;  \
        for (int64_t j = 0; j < height; j += n)                                                    \
            for (int64_t i = 0; i < width; i += n)                                                 \
                square_##n(                                                                        \
                    to + j * to_step + i * 4, to_step, from + i * from_step + j * 4, from_step);   \
        if (width < columns)                                                                       \
            smaller(to + width * 4, to_step, from + width * from_step, from_step, height,          \
                columns - width);                                                                  \
        if (height < rows)                                                                         \
            smaller(to + height * to_step, to_step, from + height * 4, from_step, rows - height,   \
                columns);                                                                          \
    }                                                                                              \
    struct transpose_needs_semicolon

static void transpose_1(char *restrict to, int64_t to_step, const char *restrict from,
    int64_t from_step, int64_t rows, int64_t columns) {
    for (int64_t j = 0; j < rows; j++)
        for (int64_t i = 0; i < columns; i++)
            *(Element *)(to + j * to_step + i * 4) =
                *(const Element *)(from + i * from_step + j * 4);
}

DEFINE_INTERLEAVED(4, );
DEFINE_TRANSPOSE(4, , transpose_1);
#if defined(__x86_64__)
DEFINE_INTERLEAVED(8, CPU_TARGET_AVX2);
DEFINE_TRANSPOSE(8, CPU_TARGET_AVX2, transpose_4);
DEFINE_INTERLEAVED(16, CPU_TARGET_AVX512);
DEFINE_TRANSPOSE(16, CPU_TARGET_AVX512, transpose_8);
#endif

CpuTranspose *cpu_transpose_for(CpuLevel level) {
#if defined(__x86_64__)
    if (level == CPU_LEVEL_AVX512) return transpose_16;
    if (level == CPU_LEVEL_AVX2) return transpose_8;
#endif
    (void)level;
    return transpose_4;
}
