/* The inner kernel of matrix multiplication for AVX2: blocks of rows × up to two vectors of columns
 * stay in registers over the whole depth. */
#include <immintrin.h>

#include "kernels/cpu/cpu_matmul_kernel.h"
#include "kernels/cpu/cpu_vector.h"

/* 12 sums, two vectors of B, one broadcast: 15 of 16 registers. The last vector is masked. */
#define DEFINE_BLOCK(ROWS, VECTORS)                                                                \
    CPU_INLINE void block_##ROWS##x##VECTORS(                                                      \
        const CpuMatmulTile *tile, int64_t row, int64_t column, __m256i mask) {                    \
        __m256 sums[ROWS][VECTORS];                                                                \
        const float *b = tile->b + column;                                                         \
        const float *a = tile->a + row * tile->a_row;                                              \
        float *out = tile->out + row * tile->out_row + column;                                     \
        const int64_t a_row = tile->a_row, a_column = tile->a_column, b_row = tile->b_row;         \
        CPU_UNROLL for (int r = 0; r < (ROWS); r++) {                                              \
            CPU_UNROLL for (int v = 0; v < (VECTORS); v++) {                                       \
                const float *from = out + r * tile->out_row + v * 8;                               \
                if (!tile->accumulate)                                                             \
                    sums[r][v] = _mm256_setzero_ps();                                              \
                else if (v < (VECTORS)-1)                                                          \
                    sums[r][v] = _mm256_loadu_ps(from);                                            \
                else                                                                               \
                    sums[r][v] = _mm256_maskload_ps(from, mask);                                   \
            }                                                                                      \
        }                                                                                          \
        for (int64_t k = 0; k < tile->depth; k++) {                                                \
            __m256 columns[VECTORS];                                                               \
            CPU_UNROLL for (int v = 0; v < (VECTORS)-1; v++) columns[v] =                          \
                _mm256_loadu_ps(b + v * 8);                                                        \
            columns[(VECTORS)-1] = _mm256_maskload_ps(b + ((VECTORS)-1) * 8, mask);                \
            CPU_UNROLL for (int r = 0; r < (ROWS); r++) {                                          \
                __m256 factor = _mm256_broadcast_ss(a + r * a_row);                                \
                CPU_UNROLL for (int v = 0; v < (VECTORS); v++) sums[r][v] =                        \
                    _mm256_fmadd_ps(factor, columns[v], sums[r][v]);                               \
            }                                                                                      \
            a += a_column;                                                                         \
            b += b_row;                                                                            \
        }                                                                                          \
        CPU_UNROLL for (int r = 0; r < (ROWS); r++) {                                              \
            CPU_UNROLL for (int v = 0; v < (VECTORS)-1; v++)                                       \
                _mm256_storeu_ps(out + r * tile->out_row + v * 8, sums[r][v]);                     \
            _mm256_maskstore_ps(                                                                   \
                out + r * tile->out_row + ((VECTORS)-1) * 8, mask, sums[r][(VECTORS)-1]);          \
        }                                                                                          \
    }                                                                                              \
    struct block_needs_semicolon

DEFINE_BLOCK(6, 2);
DEFINE_BLOCK(4, 2);
DEFINE_BLOCK(2, 2);
DEFINE_BLOCK(1, 2);
DEFINE_BLOCK(8, 1);
DEFINE_BLOCK(4, 1);
DEFINE_BLOCK(2, 1);
DEFINE_BLOCK(1, 1);

#define DEFINE_ROWS(MOST, VECTORS)                                                                 \
    static void rows_x##VECTORS(const CpuMatmulTile *tile, int64_t column, __m256i mask) {         \
        int64_t row = 0;                                                                           \
        for (; row + (MOST) <= tile->rows; row += (MOST))                                          \
            block_##MOST##x##VECTORS(tile, row, column, mask);                                     \
        for (; row + 4 <= tile->rows; row += 4) block_4x##VECTORS(tile, row, column, mask);        \
        for (; row + 2 <= tile->rows; row += 2) block_2x##VECTORS(tile, row, column, mask);        \
        for (; row < tile->rows; row++) block_1x##VECTORS(tile, row, column, mask);                \
    }                                                                                              \
    struct rows_needs_semicolon

DEFINE_ROWS(6, 2);
DEFINE_ROWS(8, 1);

void cpu_matmul_micro_avx2(const CpuMatmulTile *tile) {
    static const int32_t masks[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    for (int64_t column = 0; column < tile->columns; column += 16) {
        int64_t count = tile->columns - column < 16 ? tile->columns - column : 16;
        int64_t last = count > 8 ? count - 8 : count;
        __m256i mask = _mm256_loadu_si256((const __m256i *)(const void *)(masks + 8 - last));
        if (count > 8)
            rows_x2(tile, column, mask);
        else
            rows_x1(tile, column, mask);
    }
}
