/* The inner kernel of matrix multiplication for AVX2: blocks of rows × vectors of columns stay in
 * registers over the whole depth. */
#include <immintrin.h>

#include "kernels/cpu/cpu_matmul_kernel.h"
#include "kernels/cpu/cpu_vector.h"

/* Many rows take the depth in pieces, so that those of a panel (16 KiB) stay in the first level
 * cache while all rows go by. */
enum { ROWS_MOST = 6, DEPTH_MOST = 64 };

CPU_INLINE __m256 load(const float *from, bool whole, __m256i mask) {
    return whole ? _mm256_loadu_ps(from) : _mm256_maskload_ps(from, mask);
}

CPU_INLINE void store(float *to, bool whole, __m256i mask, __m256 value) {
    if (whole)
        _mm256_storeu_ps(to, value);
    else
        _mm256_maskstore_ps(to, mask, value);
}

/* At least eight sums, since each waits four cycles for itself and two are made in one. Sums, what
 * they are made of and a broadcast are at most 16 registers. The last vector is masked unless
 * `whole`, which is a constant. */
#define DEFINE_BLOCK(ROWS, VECTORS)                                                                \
    CPU_INLINE void block_##ROWS##x##VECTORS(                                                      \
        const CpuMatmulTile *tile, int64_t row, int64_t column, bool whole, __m256i mask) {        \
        __m256 sums[ROWS][VECTORS], factors[ROWS], columns[VECTORS];                               \
        const float *b = tile->b + column;                                                         \
        const float *a = tile->a + row * tile->a_row;                                              \
        float *out = tile->out + row * tile->out_row + column;                                     \
        const int64_t a_row = tile->a_row, a_column = tile->a_column, b_row = tile->b_row;         \
        CPU_UNROLL for (int r = 0; r < (ROWS); r++) CPU_UNROLL for (int v = 0; v < (VECTORS); v++) \
            sums[r][v] =                                                                           \
                tile->accumulate                                                                   \
                    ? load(out + r * tile->out_row + v * 8, whole || v < (VECTORS)-1, mask)        \
                    : _mm256_setzero_ps();                                                         \
        for (int64_t k = 0; k < tile->depth; k++) {                                                \
            if ((ROWS) > (VECTORS)) {                                                              \
                CPU_UNROLL for (int v = 0; v < (VECTORS); v++) columns[v] =                        \
                    load(b + v * 8, whole || v < (VECTORS)-1, mask);                               \
                CPU_UNROLL for (int r = 0; r < (ROWS); r++) {                                      \
                    factors[0] = _mm256_broadcast_ss(a + r * a_row);                               \
                    CPU_UNROLL for (int v = 0; v < (VECTORS); v++) sums[r][v] =                    \
                        _mm256_fmadd_ps(factors[0], columns[v], sums[r][v]);                       \
                }                                                                                  \
            } else {                                                                               \
                CPU_UNROLL for (int r = 0; r < (ROWS); r++) factors[r] =                           \
                    _mm256_broadcast_ss(a + r * a_row);                                            \
                CPU_UNROLL for (int v = 0; v < (VECTORS); v++) {                                   \
                    columns[0] = load(b + v * 8, whole || v < (VECTORS)-1, mask);                  \
                    CPU_UNROLL for (int r = 0; r < (ROWS); r++) sums[r][v] =                       \
                        _mm256_fmadd_ps(factors[r], columns[0], sums[r][v]);                       \
                }                                                                                  \
            }                                                                                      \
            a += a_column;                                                                         \
            b += b_row;                                                                            \
        }                                                                                          \
        CPU_UNROLL for (int r = 0; r < (ROWS); r++) CPU_UNROLL for (int v = 0; v < (VECTORS); v++) \
            store(out + r * tile->out_row + v * 8, whole || v < (VECTORS)-1, mask, sums[r][v]);    \
    }                                                                                              \
    struct block_needs_semicolon

/* Rows × all columns: in the widest blocks, then in two vectors, then in one. */
#define DEFINE_ROWS(ROWS, VECTORS)                                                                 \
    DEFINE_BLOCK(ROWS, VECTORS);                                                                   \
    static void rows_##ROWS(const CpuMatmulTile *tile, int64_t row, __m256i mask) {                \
        int64_t column = 0;                                                                        \
        for (; column + (VECTORS)*8 <= tile->columns; column += (VECTORS)*8)                       \
            block_##ROWS##x##VECTORS(tile, row, column, true, mask);                               \
        if ((VECTORS) > 2)                                                                         \
            for (; column + 16 <= tile->columns; column += 16)                                     \
                block_##ROWS##x2(tile, row, column, true, mask);                                   \
        const int64_t left = tile->columns - column;                                               \
        if (left > 8)                                                                              \
            block_##ROWS##x2(tile, row, column, false, mask);                                      \
        else if (left == 8)                                                                        \
            block_##ROWS##x1(tile, row, column, true, mask);                                       \
        else if (left > 0)                                                                         \
            block_##ROWS##x1(tile, row, column, false, mask);                                      \
    }                                                                                              \
    struct rows_need_semicolon

DEFINE_BLOCK(1, 1);
DEFINE_BLOCK(2, 1);
DEFINE_BLOCK(3, 1);
DEFINE_BLOCK(4, 1);
DEFINE_BLOCK(5, 1);
DEFINE_BLOCK(6, 1);
DEFINE_BLOCK(1, 2);
DEFINE_BLOCK(2, 2);
DEFINE_BLOCK(3, 2);
DEFINE_BLOCK(4, 2);
DEFINE_ROWS(1, 8);
DEFINE_ROWS(2, 4);
DEFINE_ROWS(3, 4);
DEFINE_ROWS(4, 3);
DEFINE_ROWS(5, 2);
DEFINE_ROWS(6, 2);

static void run_tile(const CpuMatmulTile *tile, __m256i mask) {
    static void (*const rests[ROWS_MOST])(const CpuMatmulTile *tile, int64_t row, __m256i mask) = {
        NULL, rows_1, rows_2, rows_3, rows_4, rows_5};
    int64_t row = 0;
    for (; row + ROWS_MOST <= tile->rows; row += ROWS_MOST) rows_6(tile, row, mask);
    if (row < tile->rows) rests[tile->rows - row](tile, row, mask);
}

void cpu_matmul_micro_avx2(const CpuMatmulTile *tile) {
    static const int32_t masks[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    const int64_t last = (tile->columns + 7) % 8 + 1;
    const __m256i mask = _mm256_loadu_si256((const __m256i *)(const void *)(masks + 8 - last));
    if (tile->rows < 2 * ROWS_MOST) {
        run_tile(tile, mask);
        return;
    }
    CpuMatmulTile piece = *tile;
    int64_t k = 0;
    do { /* once for depth 0: writes zeros */
        piece.depth = tile->depth - k < DEPTH_MOST ? tile->depth - k : DEPTH_MOST;
        piece.a = tile->a + k * tile->a_column;
        piece.b = tile->b + k * tile->b_row;
        piece.accumulate = tile->accumulate || k > 0;
        run_tile(&piece, mask);
        k += DEPTH_MOST;
    } while (k < tile->depth);
}
