/* Products of few columns for AVX2 and the levels above it. */
#include <immintrin.h>

#include "kernels/cpu/core/cpu_vector.h"
#include "kernels/cpu/matmul/cpu_matmul_narrow.h"
#include "kernels/device/kernel_stop.h"

enum { LANES = 8 };

/* Turns eight rows of eight numbers into eight columns. */
CPU_INLINE void transpose(__m256 x[LANES]) {
    __m256 pairs[LANES], fours[LANES];
    CPU_UNROLL for (int i = 0; i < LANES; i += 2) {
        pairs[i] = _mm256_unpacklo_ps(x[i], x[i + 1]);
        pairs[i + 1] = _mm256_unpackhi_ps(x[i], x[i + 1]);
    }
    CPU_UNROLL for (int i = 0; i < LANES; i += 4) {
        fours[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
        fours[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xee);
        fours[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
        fours[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xee);
    }
    CPU_UNROLL for (int i = 0; i < LANES / 2; i++) {
        x[i] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x20);
        x[i + 4] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x31);
    }
}

/* Stores the first `rows` lanes of the columns. A masked store would take as long as forty plain
 * ones on some processors. */
CPU_INLINE void leave(float *to, const __m256 *sums, int columns, int64_t rows) {
    float lanes[CPU_NARROW_COLUMNS_MAX][LANES];
    if (columns == 1 && rows == LANES) {
        _mm256_storeu_ps(to, sums[0]);
        return;
    }
    CPU_UNROLL for (int j = 0; j < columns; j++) _mm256_storeu_ps(lanes[j], sums[j]);
    for (int64_t i = 0; i < rows; i++)
        CPU_UNROLL for (int j = 0; j < columns; j++) to[i * columns + j] = lanes[j][i];
}

/* Lanes beyond the last row repeat it. */
#define DEFINE_COLUMNS(COLUMNS)                                                                    \
    CPU_INLINE void part_##COLUMNS(const CpuNarrow *narrow, const float *const *rows, int64_t k,   \
        int depth, __m256i mask, __m256 *sums) {                                                   \
        __m256 x[LANES];                                                                           \
        const float *b = narrow->b + k * narrow->b_row;                                            \
        CPU_UNROLL for (int i = 0; i < LANES; i++) x[i] =                                          \
            depth == LANES ? _mm256_loadu_ps(rows[i] + k) : _mm256_maskload_ps(rows[i] + k, mask); \
        transpose(x);                                                                              \
        CPU_UNROLL for (int i = 0; i < LANES; i++) {                                               \
            if (i >= depth) break;                                                                 \
            CPU_UNROLL for (int j = 0; j < (COLUMNS); j++) sums[j] =                               \
                _mm256_fmadd_ps(x[i], _mm256_broadcast_ss(b + j * narrow->b_column), sums[j]);     \
            b += narrow->b_row;                                                                    \
        }                                                                                          \
    }                                                                                              \
    static void rows_##COLUMNS(const CpuNarrow *narrow, int64_t row, __m256i mask) {               \
        const int64_t below = narrow->rows - row, whole = narrow->depth & -LANES;                  \
        const float *rows[LANES];                                                                  \
        __m256 sums[COLUMNS];                                                                      \
        for (int64_t i = 0; i < LANES; i++)                                                        \
            rows[i] = narrow->a + (row + (i < below ? i : below - 1)) * narrow->a_row;             \
        CPU_UNROLL for (int j = 0; j < (COLUMNS); j++) sums[j] = _mm256_setzero_ps();              \
        for (int64_t k = 0; k < whole; k += LANES)                                                 \
            part_##COLUMNS(narrow, rows, k, LANES, mask, sums);                                    \
        if (whole < narrow->depth)                                                                 \
            part_##COLUMNS(narrow, rows, whole, (int)(narrow->depth - whole), mask, sums);         \
        if (narrow->bias) CPU_UNROLL                                                               \
        for (int j = 0; j < (COLUMNS); j++)                                                        \
            sums[j] = _mm256_add_ps(                                                               \
                sums[j], _mm256_broadcast_ss(narrow->bias + j * narrow->bias_column));             \
        if (narrow->relu) /* NaN stays */                                                          \
            CPU_UNROLL                                                                             \
        for (int j = 0; j < (COLUMNS); j++)                                                        \
            sums[j] = _mm256_andnot_ps(                                                            \
                _mm256_cmp_ps(sums[j], _mm256_setzero_ps(), _CMP_LT_OQ), sums[j]);                 \
        leave(narrow->to + row * (COLUMNS), sums, COLUMNS, below < LANES ? below : LANES);         \
    }                                                                                              \
    struct columns_needs_semicolon
DEFINE_COLUMNS(1);
DEFINE_COLUMNS(2);
DEFINE_COLUMNS(3);
DEFINE_COLUMNS(4);
DEFINE_COLUMNS(5);
DEFINE_COLUMNS(6);
DEFINE_COLUMNS(7);

void cpu_matmul_narrow(const CpuNarrow *narrow) {
    static void (*const of_columns[CPU_NARROW_COLUMNS_MAX + 1])(const CpuNarrow *narrow,
        int64_t row, __m256i mask) = {NULL, rows_1, rows_2, rows_3, rows_4, rows_5, rows_6, rows_7};
    static const int32_t masks[2 * LANES] = {-1, -1, -1, -1, -1, -1, -1, -1};
    const int32_t *last = masks + LANES - narrow->depth % LANES;
    const __m256i mask = _mm256_loadu_si256((const __m256i *)(const void *)last);
    KernelStopMeter meter = {0};
    for (int64_t row = 0; row < narrow->rows; row += LANES) {
        if (kernel_stop_ends_after(&meter, (uint64_t)(narrow->depth * narrow->columns))) return;
        of_columns[narrow->columns](narrow, row, mask);
    }
}
