/* The inner kernels of products of float64 for AVX2 and the levels above it. */
#include <immintrin.h>

#include "kernels/cpu/core/cpu_vector.h"
#include "kernels/cpu/matmul/cpu_matmul_double.h"

enum { PANEL = CPU_DOUBLE_PANEL, LANES = CPU_DOUBLE_VECTOR };

#define EACH_SUM(ROWS, VECTORS)                                                                    \
    CPU_UNROLL for (int r = 0; r < (ROWS); r++) CPU_UNROLL for (int v = 0; v < (VECTORS); v++)

/* Stores `columns` numbers of a row of sums, of the last vector one to four: a masked store takes
 * as long as forty plain ones on some processors. */
CPU_INLINE void store_row(double *to, const __m256d *sums, int vectors, int64_t columns) {
    const int64_t left = columns - (vectors - 1) * LANES;
    CPU_UNROLL for (int v = 0; v < vectors - 1; v++) _mm256_storeu_pd(to + v * LANES, sums[v]);
    const __m256d last = sums[vectors - 1];
    to += (vectors - 1) * LANES;
    if (left == LANES) {
        _mm256_storeu_pd(to, last);
        return;
    }
    if (left == 1) {
        _mm_store_sd(to, _mm256_castpd256_pd128(last));
        return;
    }
    _mm_storeu_pd(to, _mm256_castpd256_pd128(last));
    if (left == 3) _mm_store_sd(to + 2, _mm256_extractf128_pd(last, 1));
}

/* A sum waits four cycles for its last product, and two products begin in each cycle, so eight sums
 * at least keep the processor busy. Sums, the shorter side's operands and one of the longer side's
 * use at most 16 registers. */
#define DEFINE_BLOCK(ROWS, VECTORS)                                                                \
    static void block_##ROWS##x##VECTORS(const CpuDoubleTile *tile, int64_t row) {                 \
        __m256d sums[ROWS][VECTORS];                                                               \
        const int64_t a_row = tile->a_row, a_column = tile->a_column, b_row = tile->b_row;         \
        const double *a = tile->a + row * a_row, *b = tile->b;                                     \
        double *out = tile->sums + row * PANEL;                                                    \
        EACH_SUM(ROWS, VECTORS)                                                                    \
        sums[r][v] =                                                                               \
            tile->accumulate ? _mm256_loadu_pd(out + r * PANEL + v * LANES) : _mm256_setzero_pd(); \
        for (int64_t k = tile->depth; k > 0; k--) {                                                \
            if ((ROWS) > (VECTORS)) {                                                              \
                __m256d columns[VECTORS];                                                          \
                CPU_UNROLL for (int v = 0; v < (VECTORS); v++) columns[v] =                        \
                    _mm256_loadu_pd(b + v * LANES);                                                \
                CPU_UNROLL for (int r = 0; r < (ROWS); r++) {                                      \
                    const __m256d factor = _mm256_broadcast_sd(a + r * a_row);                     \
                    CPU_UNROLL for (int v = 0; v < (VECTORS); v++) sums[r][v] =                    \
                        _mm256_fmadd_pd(factor, columns[v], sums[r][v]);                           \
                }                                                                                  \
            } else {                                                                               \
                __m256d factors[ROWS];                                                             \
                CPU_UNROLL for (int r = 0; r < (ROWS); r++) factors[r] =                           \
                    _mm256_broadcast_sd(a + r * a_row);                                            \
                CPU_UNROLL for (int v = 0; v < (VECTORS); v++) {                                   \
                    const __m256d columns = _mm256_loadu_pd(b + v * LANES);                        \
                    CPU_UNROLL for (int r = 0; r < (ROWS); r++) sums[r][v] =                       \
                        _mm256_fmadd_pd(factors[r], columns, sums[r][v]);                          \
                }                                                                                  \
            }                                                                                      \
            a += a_column;                                                                         \
            b += b_row;                                                                            \
        }                                                                                          \
        if (!tile->to) {                                                                           \
            EACH_SUM(ROWS, VECTORS) _mm256_storeu_pd(out + r * PANEL + v * LANES, sums[r][v]);     \
            return;                                                                                \
        }                                                                                          \
        EACH_SUM(ROWS, VECTORS)                                                                    \
        sums[r][v] = _mm256_add_pd(sums[r][v], _mm256_loadu_pd(tile->bias + v * LANES));           \
        if (tile->relu) /* NaN stays */                                                            \
            EACH_SUM(ROWS, VECTORS)                                                                \
        sums[r][v] = _mm256_andnot_pd(                                                             \
            _mm256_cmp_pd(sums[r][v], _mm256_setzero_pd(), _CMP_LT_OQ), sums[r][v]);               \
        CPU_UNROLL for (int r = 0; r < (ROWS); r++)                                                \
            store_row(tile->to + (row + r) * tile->to_row, sums[r], VECTORS, tile->columns);       \
    }                                                                                              \
    struct block_needs_semicolon

DEFINE_BLOCK(1, 4);
DEFINE_BLOCK(2, 4);
DEFINE_BLOCK(3, 4);
DEFINE_BLOCK(1, 3);
DEFINE_BLOCK(2, 3);
DEFINE_BLOCK(3, 3);
DEFINE_BLOCK(4, 3);
DEFINE_BLOCK(1, 2);
DEFINE_BLOCK(2, 2);
DEFINE_BLOCK(3, 2);
DEFINE_BLOCK(4, 2);
DEFINE_BLOCK(5, 2);
DEFINE_BLOCK(6, 2);
DEFINE_BLOCK(1, 1);
DEFINE_BLOCK(2, 1);
DEFINE_BLOCK(3, 1);
DEFINE_BLOCK(4, 1);
DEFINE_BLOCK(5, 1);
DEFINE_BLOCK(6, 1);
DEFINE_BLOCK(7, 1);
DEFINE_BLOCK(8, 1);

typedef void Block(const CpuDoubleTile *tile, int64_t row);
enum { VECTORS_MOST = PANEL / LANES, ROWS_MOST = 8 };
static const int rows_most[VECTORS_MOST + 1] = {0, 8, 6, 4, 3};
static Block *const blocks_by_size[VECTORS_MOST + 1][ROWS_MOST + 1] = {
    {NULL},
    {NULL, block_1x1, block_2x1, block_3x1, block_4x1, block_5x1, block_6x1, block_7x1, block_8x1},
    {NULL, block_1x2, block_2x2, block_3x2, block_4x2, block_5x2, block_6x2},
    {NULL, block_1x3, block_2x3, block_3x3, block_4x3},
    {NULL, block_1x4, block_2x4, block_3x4},
};

/* The blocks' heights differ by at most one row, since low blocks waste time. */
void cpu_matmul_double_tile(const CpuDoubleTile *tile) {
    const int64_t vectors = (tile->columns + LANES - 1) / LANES;
    const int64_t most = rows_most[vectors];
    int64_t row = 0;
    for (int64_t left = (tile->rows + most - 1) / most; left > 0; left--) {
        const int64_t rows = (tile->rows - row + left - 1) / left;
        blocks_by_size[vectors][rows](tile, row);
        row += rows;
    }
}

/* Rows beyond the last one repeat the first. */
void cpu_matmul_double_column(const CpuDoubleColumn *column, double *out) {
    enum { ROWS = CPU_DOUBLE_COLUMN_ROWS };
    __m128d sums[ROWS];
    const double *rows[ROWS], *b = column->b;
    int64_t at = 0;
    CPU_UNROLL for (int i = 0; i < ROWS; i++) {
        rows[i] = column->a + (i < column->rows ? i : 0) * column->a_row;
        sums[i] = column->accumulate && i < column->rows ? _mm_load_sd(out + i) : _mm_setzero_pd();
    }
    for (int64_t k = column->depth; k > 0; k--) {
        const __m128d factor = _mm_load_sd(b);
        CPU_UNROLL for (int i = 0; i < ROWS; i++) sums[i] =
            _mm_fmadd_sd(_mm_load_sd(rows[i] + at), factor, sums[i]);
        at += column->a_column;
        b += column->b_row;
    }
    for (int i = 0; i < ROWS; i++)
        if (i < column->rows) _mm_store_sd(out + i, sums[i]);
}
