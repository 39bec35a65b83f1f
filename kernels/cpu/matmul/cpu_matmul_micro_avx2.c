/* The inner kernel of matrix multiplication for AVX2: blocks of rows × vectors of columns stay in
 * registers over the whole depth. */
#include <immintrin.h>

#include "kernels/cpu/matmul/cpu_matmul_finish.h"

/* With many rows the depth is cut into pieces, so that a strip's piece (16 KiB) stays in the first
 * level cache for all rows. If lines of B are a row apart they compete for the cache's sets: pieces
 * are then shorter. */
enum {
    STRIP = CPU_MATMUL_STRIP,
    ROWS_MOST = 6,
    /* up to so many rows read every strip once: no pieces, several strips at a time */
    ROWS_FEW = 3,
    DEPTH_OF_STRIPS = CPU_MATMUL_DEPTH_MAX,
    DEPTH_OF_ROWS = 64,
};

CPU_INLINE __m256 load_part(const float *from, bool whole, __m256i mask) {
    return whole ? _mm256_loadu_ps(from) : _mm256_maskload_ps(from, mask);
}

CPU_INLINE void store_part(float *to, bool whole, __m256i mask, __m256 value) {
    if (whole)
        _mm256_storeu_ps(to, value);
    else
        _mm256_maskstore_ps(to, mask, value);
}

/* NaN stays. */
CPU_INLINE __m256 relu(__m256 x) {
    return _mm256_andnot_ps(_mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_LT_OQ), x);
}

/* The arguments `whole` and `mask` for vector v: only the last vector is masked. */
#define PART(VECTORS) whole || v < (VECTORS)-1, mask

/* At least eight sums: an addition to a sum takes four cycles, and two additions begin in each
 * cycle. Sums, a row of B and a broadcast use at most 16 registers. The last vector is masked
 * unless `whole`, which is a constant. Columns begin with a strip. */
#define DEFINE_BLOCK(ROWS, VECTORS)                                                                \
    CPU_INLINE void block_##ROWS##x##VECTORS(                                                      \
        const CpuMatmulTile *tile, int64_t row, int64_t column, bool whole, __m256i mask) {        \
        __m256 sums[ROWS][VECTORS], factors[ROWS], columns[VECTORS];                               \
        const int64_t a_column = tile->a_column, b_row = tile->b_row;                              \
        const int64_t strip = tile->b_strip, depth = tile->depth;                                  \
        const float *b = tile->b + column / STRIP * strip;                                         \
        const float *rows[ROWS];                                                                   \
        CPU_UNROLL for (int r = 0; r < (ROWS); r++) rows[r] = cpu_matmul_tile_row(tile, row + r);  \
        int64_t at = 0;                                                                            \
        float *out = tile->out + row * tile->out_row + column;                                     \
        CPU_EACH_SUM(ROWS, VECTORS)                                                                \
        sums[r][v] = tile->accumulate ? load_part(out + r * tile->out_row + v * 8, PART(VECTORS))  \
                                      : _mm256_setzero_ps();                                       \
        for (int64_t k = 0; k < depth; k++) {                                                      \
            if ((ROWS) > (VECTORS)) {                                                              \
                CPU_UNROLL for (int v = 0; v < (VECTORS); v++) columns[v] =                        \
                    load_part(b + v / 2 * strip + v % 2 * 8, PART(VECTORS));                       \
                CPU_UNROLL for (int r = 0; r < (ROWS); r++) {                                      \
                    factors[0] = _mm256_broadcast_ss(rows[r] + at);                                \
                    CPU_UNROLL for (int v = 0; v < (VECTORS); v++) sums[r][v] =                    \
                        _mm256_fmadd_ps(factors[0], columns[v], sums[r][v]);                       \
                }                                                                                  \
            } else {                                                                               \
                CPU_UNROLL for (int r = 0; r < (ROWS); r++) factors[r] =                           \
                    _mm256_broadcast_ss(rows[r] + at);                                             \
                CPU_UNROLL for (int v = 0; v < (VECTORS); v++) {                                   \
                    columns[0] = load_part(b + v / 2 * strip + v % 2 * 8, PART(VECTORS));          \
                    CPU_UNROLL for (int r = 0; r < (ROWS); r++) sums[r][v] =                       \
                        _mm256_fmadd_ps(factors[r], columns[0], sums[r][v]);                       \
                }                                                                                  \
            }                                                                                      \
            at += a_column;                                                                        \
            b += b_row;                                                                            \
        }                                                                                          \
        CPU_LEAVE_SUMS(ROWS, VECTORS, 8, column);                                                  \
    }                                                                                              \
    struct block_needs_semicolon

/* Rows × columns, from the first column of a strip to the end of the strip or of the tile. */
#define DEFINE_STRIP(ROWS)                                                                         \
    DEFINE_BLOCK(ROWS, 1);                                                                         \
    DEFINE_BLOCK(ROWS, 2);                                                                         \
    static void strip_##ROWS(                                                                      \
        const CpuMatmulTile *tile, int64_t row, int64_t column, __m256i mask) {                    \
        const int64_t left = tile->columns - column;                                               \
        if (left >= STRIP)                                                                         \
            block_##ROWS##x2(tile, row, column, true, mask);                                       \
        else if (left > 8)                                                                         \
            block_##ROWS##x2(tile, row, column, false, mask);                                      \
        else if (left == 8)                                                                        \
            block_##ROWS##x1(tile, row, column, true, mask);                                       \
        else                                                                                       \
            block_##ROWS##x1(tile, row, column, false, mask);                                      \
    }                                                                                              \
    struct strip_needs_semicolon

DEFINE_STRIP(1);
DEFINE_STRIP(2);
DEFINE_STRIP(3);
DEFINE_STRIP(4);
DEFINE_STRIP(5);
DEFINE_STRIP(6);

/* All columns of a tile of so many rows: VECTORS vectors at a time, the rest strip by strip. */
#define DEFINE_FEW(ROWS, VECTORS)                                                                  \
    DEFINE_BLOCK(ROWS, VECTORS);                                                                   \
    static void few_##ROWS(const CpuMatmulTile *tile, __m256i mask) {                              \
        int64_t column = 0;                                                                        \
        for (; column + (VECTORS)*8 <= tile->columns; column += (VECTORS)*8)                       \
            block_##ROWS##x##VECTORS(tile, 0, column, true, mask);                                 \
        for (; column < tile->columns; column += STRIP) strip_##ROWS(tile, 0, column, mask);       \
    }                                                                                              \
    struct few_needs_semicolon

DEFINE_BLOCK(1, 4);
DEFINE_BLOCK(1, 6);
DEFINE_BLOCK(1, 8);

/* One row. Each of its sums is a chain of additions, so the rest of the columns is one block, too:
 * strip by strip, two chains would wait for each other's end. */
static void few_1(const CpuMatmulTile *tile, __m256i mask) {
    const int64_t columns = tile->columns, whole = columns / STRIP * STRIP;
    int64_t column = 0;
    for (; column + 64 <= whole; column += 64) block_1x8(tile, 0, column, true, mask);
    if (whole - column == 48) block_1x6(tile, 0, column, true, mask), column += 48;
    if (whole - column == 32) block_1x4(tile, 0, column, true, mask), column += 32;
    for (; column < columns; column += STRIP) strip_1(tile, 0, column, mask);
}

DEFINE_FEW(2, 4);
DEFINE_FEW(3, 4);

/* Prefetches a strip from the second level cache or from memory while the strip before is
 * multiplied. */
CPU_INLINE uintptr_t fetch(uintptr_t from, int64_t lines) {
    for (int64_t i = 0; i < lines; i++, from += 64) _mm_prefetch((const char *)from, _MM_HINT_T1);
    return from;
}

/* Multiplies a piece of the depth. The blocks' heights differ by at most one row, since low blocks
 * waste time. next: the operand of the next piece. */
static void run_piece(const CpuMatmulTile *tile, const float *next, __m256i mask) {
    static void (*const strips[ROWS_MOST + 1])(const CpuMatmulTile *tile, int64_t row,
        int64_t column,
        __m256i mask) = {NULL, strip_1, strip_2, strip_3, strip_4, strip_5, strip_6};
    const int64_t blocks = (tile->rows + ROWS_MOST - 1) / ROWS_MOST;
    const int64_t lines = tile->b_row == STRIP ? (tile->depth + blocks - 1) / blocks : 0;
    for (int64_t column = 0; column < tile->columns; column += STRIP) {
        const bool last = column + STRIP >= tile->columns;
        uintptr_t fetched = (uintptr_t)next; /* may leave the array in the end */
        if (!last) fetched = (uintptr_t)(tile->b + (column / STRIP + 1) * tile->b_strip);
        int64_t row = 0;
        for (int64_t left = blocks; left > 0; left--) {
            const int64_t rows = (tile->rows - row + left - 1) / left;
            if (fetched && lines > 0) fetched = fetch(fetched, lines);
            strips[rows](tile, row, column, mask);
            row += rows;
        }
    }
}

void cpu_matmul_micro_avx2(const CpuMatmulTile *tile) {
    static void (*const few[ROWS_FEW + 1])(const CpuMatmulTile *tile, __m256i mask) = {
        NULL, few_1, few_2, few_3};
    static const int32_t masks[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    const int64_t last = (tile->columns + 7) % 8 + 1;
    const __m256i mask = _mm256_loadu_si256((const __m256i *)(const void *)(masks + 8 - last));
    if (tile->rows <= ROWS_FEW) {
        few[tile->rows](tile, mask);
        return;
    }
    const int64_t most = tile->b_row == STRIP ? DEPTH_OF_STRIPS : DEPTH_OF_ROWS;
    CpuMatmulTile piece = *tile;
    int64_t k = 0;
    do { /* once for depth 0: writes zeros */
        piece.depth = tile->depth - k < most ? tile->depth - k : most;
        piece.a = tile->a + k * tile->a_column;
        piece.b = tile->b + k * tile->b_row;
        piece.accumulate = tile->accumulate || k > 0;
        k += most;
        piece.finish = k < tile->depth ? NULL : tile->finish;
        run_piece(&piece, k < tile->depth ? tile->b + k * tile->b_row : tile->b_next, mask);
    } while (k < tile->depth);
}
