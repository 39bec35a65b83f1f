/* The inner kernel of matrix multiplication for AVX-512: blocks of rows × up to four vectors of
 * columns stay in registers over the whole depth. */
#include <assert.h>
#include <immintrin.h>

#include "kernels/cpu/matmul/cpu_matmul_finish.h"

enum {
    LINE = 64,
    FETCHING_ROWS = 4, /* fewer rows need their weights so soon that prefetching is useless */
};

/* whole is a constant. */
CPU_INLINE __m512 load_part(const float *from, bool whole, __mmask16 mask) {
    return whole ? _mm512_loadu_ps(from) : _mm512_maskz_loadu_ps(mask, from);
}
CPU_INLINE void store_part(float *to, bool whole, __mmask16 mask, __m512 value) {
    if (whole)
        _mm512_storeu_ps(to, value);
    else
        _mm512_mask_storeu_ps(to, mask, value);
}
/* NaN stays. */
CPU_INLINE __m512 relu(__m512 x) {
    const __mmask16 kept = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_NLT_UQ);
    return _mm512_maskz_mov_ps(kept, x);
}
/* The arguments `whole` and `mask` for vector v: only the last vector is masked. */
#define PART(VECTORS) v < (VECTORS)-1, mask

/* 24 sums, and a vector of B for each column group: 28 of 32 registers. The last vector is masked,
 * so that no element behind the columns is read or written. lines: so many lines from `next` on are
 * prefetched for each step of the depth. */
#define DEFINE_BLOCK(ROWS, VECTORS)                                                                \
    CPU_SPECIALISED void block_##ROWS##x##VECTORS(                                                 \
        const CpuMatmulTile *tile, int64_t row, __mmask16 mask, uintptr_t next, int lines) {       \
        __m512 sums[ROWS][VECTORS];                                                                \
        const float *b = tile->b;                                                                  \
        const float *a = tile->a + row * tile->a_row;                                              \
        float *out = tile->out + row * tile->out_row;                                              \
        const int64_t a_row = tile->a_row, a_column = tile->a_column, b_row = tile->b_row;         \
        CPU_EACH_SUM(ROWS, VECTORS)                                                                \
        sums[r][v] = tile->accumulate ? load_part(out + r * tile->out_row + v * 16, PART(VECTORS)) \
                                      : _mm512_setzero_ps();                                       \
        for (int64_t k = 0; k < tile->depth; k++) {                                                \
            __m512 columns[VECTORS];                                                               \
            CPU_UNROLL for (int v = 0; v < (VECTORS); v++) columns[v] =                            \
                load_part(b + v * 16, PART(VECTORS));                                              \
            CPU_UNROLL for (int r = 0; r < (ROWS); r++) {                                          \
                __m512 factor = _mm512_set1_ps(a[r * a_row]);                                      \
                CPU_UNROLL for (int v = 0; v < (VECTORS); v++) sums[r][v] =                        \
                    _mm512_fmadd_ps(factor, columns[v], sums[r][v]);                               \
            }                                                                                      \
            CPU_UNROLL for (int i = 0; i < lines; i++)                                             \
                _mm_prefetch((const char *)next + i * LINE, _MM_HINT_T1);                          \
            next += lines == (VECTORS) ? (uint64_t)b_row * sizeof(float) : (uint64_t)lines * LINE; \
            a += a_column;                                                                         \
            b += b_row;                                                                            \
        }                                                                                          \
        CPU_LEAVE_SUMS(ROWS, VECTORS, 16, 0);                                                      \
    }                                                                                              \
    struct block_needs_semicolon

DEFINE_BLOCK(6, 4);
DEFINE_BLOCK(4, 4);
DEFINE_BLOCK(2, 4);
DEFINE_BLOCK(1, 4);
DEFINE_BLOCK(8, 3);
DEFINE_BLOCK(4, 3);
DEFINE_BLOCK(2, 3);
DEFINE_BLOCK(1, 3);
DEFINE_BLOCK(12, 2);
DEFINE_BLOCK(4, 2);
DEFINE_BLOCK(2, 2);
DEFINE_BLOCK(1, 2);
/* One vector of columns: up to 16 rows. Every factor comes from memory, so that nothing else
 * should: four rows share a pointer, since a register for each row's place would be a load for
 * some. The compiler would undo that if it knew. */
#define DEFINE_NARROW(ROWS)                                                                        \
    CPU_SPECIALISED void block_##ROWS##x1(                                                         \
        const CpuMatmulTile *tile, int64_t row, __mmask16 mask, uintptr_t next) {                  \
        enum { POINTERS = ((ROWS) + 3) / 4 };                                                      \
        __m512 sums[ROWS][1];                                                                      \
        const float *b = tile->b, *from[POINTERS];                                                 \
        float *out = tile->out + row * tile->out_row;                                              \
        const int64_t a_row = tile->a_row, a_column = tile->a_column, b_row = tile->b_row;         \
        int64_t three_rows = 3 * a_row;                                                            \
        __asm__("" : "+r"(three_rows));                                                            \
        CPU_UNROLL for (int i = 0; i < POINTERS; i++) {                                            \
            from[i] = tile->a + (row + 4 * i) * a_row;                                             \
            __asm__("" : "+r"(from[i]));                                                           \
        }                                                                                          \
        CPU_UNROLL for (int r = 0; r < (ROWS); r++) sums[r][0] =                                   \
            tile->accumulate ? _mm512_maskz_loadu_ps(mask, out + r * tile->out_row)                \
                             : _mm512_setzero_ps();                                                \
        for (int64_t k = tile->depth; k > 0; k--) {                                                \
            const __m512 column = _mm512_maskz_loadu_ps(mask, b);                                  \
            CPU_UNROLL for (int r = 0; r < (ROWS); r++) {                                          \
                const int64_t at = r % 4 == 3 ? three_rows : r % 4 * a_row;                        \
                sums[r][0] = _mm512_fmadd_ps(_mm512_set1_ps(from[r / 4][at]), column, sums[r][0]); \
            }                                                                                      \
            if (next) {                                                                            \
                _mm_prefetch((const char *)next, _MM_HINT_T1);                                     \
                next += (uint64_t)b_row * sizeof(float);                                           \
            }                                                                                      \
            CPU_UNROLL for (int i = 0; i < POINTERS; i++) from[i] += a_column;                     \
            b += b_row;                                                                            \
        }                                                                                          \
        CPU_LEAVE_SUMS(ROWS, 1, 16, 0);                                                            \
    }                                                                                              \
    struct narrow_needs_semicolon

#define EACH_NARROW(DO)                                                                            \
    DO(1);                                                                                         \
    DO(2);                                                                                         \
    DO(3);                                                                                         \
    DO(4);                                                                                         \
    DO(5);                                                                                         \
    DO(6);                                                                                         \
    DO(7);                                                                                         \
    DO(8);                                                                                         \
    DO(9);                                                                                         \
    DO(10);                                                                                        \
    DO(11);                                                                                        \
    DO(12);                                                                                        \
    DO(13);                                                                                        \
    DO(14);                                                                                        \
    DO(15);                                                                                        \
    DO(16)
EACH_NARROW(DEFINE_NARROW);

/* The operands of the next tile are prefetched, even from memory. The first block fetches all of
 * them; if the operand is contiguous, the first two blocks fetch half each. */
#define RUN_BLOCK(ROWS, VECTORS)                                                                   \
    do {                                                                                           \
        if (fetches == 0)                                                                          \
            block_##ROWS##x##VECTORS(tile, row, mask, 0, 0);                                       \
        else if (lines == (VECTORS))                                                               \
            block_##ROWS##x##VECTORS(tile, row, mask, next, (VECTORS));                            \
        else                                                                                       \
            block_##ROWS##x##VECTORS(tile, row, mask, next, HALF_OF(VECTORS));                     \
        if (fetches > 0) fetches--;                                                                \
        next += (uint64_t)(tile->depth * lines) * LINE;                                            \
        row += (ROWS);                                                                             \
    } while (0)
#define HALF_OF(VECTORS) (((VECTORS) + 1) / 2)

#define DEFINE_ROWS(MOST, VECTORS)                                                                 \
    static void rows_x##VECTORS(const CpuMatmulTile *tile, __mmask16 mask) {                       \
        const bool together = tile->rows > (MOST) && tile->b_row == (VECTORS)*16;                  \
        const int lines = together ? HALF_OF(VECTORS) : (VECTORS);                                 \
        int fetches = !tile->b_next || tile->rows < FETCHING_ROWS ? 0 : together ? 2 : 1;          \
        uintptr_t next = (uintptr_t)tile->b_next;                                                  \
        int64_t row = 0;                                                                           \
        while (row + (MOST) <= tile->rows) RUN_BLOCK(MOST, VECTORS);                               \
        while (row + 4 <= tile->rows) RUN_BLOCK(4, VECTORS);                                       \
        while (row + 2 <= tile->rows) RUN_BLOCK(2, VECTORS);                                       \
        if (row < tile->rows) RUN_BLOCK(1, VECTORS);                                               \
    }                                                                                              \
    struct rows_needs_semicolon

DEFINE_ROWS(6, 4);
DEFINE_ROWS(8, 3);
DEFINE_ROWS(12, 2);

/* One vector of columns has a sum for each row, and a sum waits four cycles for its last product:
 * rows are cut into as few blocks as possible, all of about the same size (14 rows as one block
 * take 7 cycles for each step of the depth, as 4 + 4 + 4 + 2 they take 16). */
enum { NARROW_MOST = 16 };
static void rows_x1(const CpuMatmulTile *tile, __mmask16 mask) {
    int64_t row = 0;
    for (int64_t blocks = (tile->rows + NARROW_MOST - 1) / NARROW_MOST; blocks > 0; blocks--) {
        const int64_t rows = (tile->rows - row + blocks - 1) / blocks;
        const uintptr_t next = row == 0 ? (uintptr_t)tile->b_next : 0;
        switch (rows) {
#define RUN_NARROW(ROWS)                                                                           \
    case ROWS:                                                                                     \
        block_##ROWS##x1(tile, row, mask, (ROWS) < FETCHING_ROWS ? 0 : next);                      \
        break
            EACH_NARROW(RUN_NARROW);
        default:
            break;
        }
        row += rows;
    }
}

void cpu_matmul_micro_avx512(const CpuMatmulTile *tile) {
    assert(tile->b_strip == CPU_MATMUL_STRIP && !tile->a_rows);
    int64_t vectors = (tile->columns + 15) / 16;
    __mmask16 mask = (__mmask16)(0xffffu >> (vectors * 16 - tile->columns));
    if (vectors == 4)
        rows_x4(tile, mask);
    else if (vectors == 3)
        rows_x3(tile, mask);
    else if (vectors == 2)
        rows_x2(tile, mask);
    else
        rows_x1(tile, mask);
}

enum { PANEL_VECTORS = CPU_MATMUL_PANEL / 16, AHEAD_BYTES = 1024 };

/* Two panels alternate line by line. Alternating whole steps (add_step) took 1 to 2 % longer for
 * gpt2_gen, whose weights come from memory. */
CPU_INLINE void row_panels(const float *a, int64_t a_column, const float *b, int64_t depth,
    int panels, bool near, float *out) {
    const float *from[2] = {b, b + depth * CPU_MATMUL_PANEL};
    __m512 sums[2][PANEL_VECTORS];
    CPU_UNROLL for (int p = 0; p < panels; p++) CPU_UNROLL for (int v = 0; v < PANEL_VECTORS; v++)
        sums[p][v] = _mm512_setzero_ps();
    for (int64_t k = 0; k < depth; k++) {
        const __m512 factor = _mm512_set1_ps(*a);
        CPU_UNROLL for (int v = 0; v < PANEL_VECTORS; v++)
            CPU_UNROLL for (int p = 0; p < panels; p++) {
            const float *at = from[p] + v * 16;
            if (near) _mm_prefetch((const char *)at + AHEAD_BYTES, _MM_HINT_T0);
            sums[p][v] = _mm512_fmadd_ps(factor, _mm512_loadu_ps(at), sums[p][v]);
        }
        a += a_column;
        CPU_UNROLL for (int p = 0; p < panels; p++) from[p] += CPU_MATMUL_PANEL;
    }
    CPU_UNROLL for (int p = 0; p < panels; p++) CPU_UNROLL for (int v = 0; v < PANEL_VECTORS; v++)
        _mm512_storeu_ps(out + p * CPU_MATMUL_PANEL + v * 16, sums[p][v]);
}

void cpu_matmul_row_avx512(
    const float *a, int64_t a_column, const float *b, int64_t depth, const CpuRowPanels *panels) {
    if (!panels->near && panels->count == 2) {
        row_panels(a, a_column, b, depth, 2, false, panels->out);
        return;
    }
    for (int64_t p = 0; p < panels->count; p++) {
        const float *panel = b + p * depth * CPU_MATMUL_PANEL;
        float *out = panels->out + p * CPU_MATMUL_PANEL;
        if (panels->near)
            row_panels(a, a_column, panel, depth, 1, true, out);
        else
            row_panels(a, a_column, panel, depth, 1, false, out);
    }
}

/* A step of k of one row and one panel. fetches: prefetches the bytes AHEAD_BYTES further, too. */
CPU_INLINE void add_step(__m512 *sums, float factor, const float *at, const bool fetches) {
    const __m512 factors = _mm512_set1_ps(factor);
    CPU_UNROLL for (int v = 0; v < PANEL_VECTORS; v++) {
        if (fetches) _mm_prefetch((const char *)(at + v * 16) + AHEAD_BYTES, _MM_HINT_T0);
        sums[v] = _mm512_fmadd_ps(factors, _mm512_loadu_ps(at + v * 16), sums[v]);
    }
}

/* `steps` of the panel's k for each k of the other rows, so that both end at about the same
 * time. */
CPU_INLINE void weave(const float *a, const float *b, int64_t depth, float *out,
    const CpuWovenRows *rows, const int steps) {
    __m512 sums[PANEL_VECTORS];
    int64_t k = 0;
    CPU_UNROLL for (int v = 0; v < PANEL_VECTORS; v++) sums[v] = _mm512_setzero_ps();
    for (int64_t row = 0; row < rows->count; row++) {
        const float *factors = rows->a + row * rows->a_row, *columns = rows->b;
        float *to = rows->out + row * rows->out_row;
        __m512 others[PANEL_VECTORS];
        CPU_UNROLL for (int v = 0; v < PANEL_VECTORS; v++) others[v] =
            rows->accumulate ? _mm512_loadu_ps(to + v * 16) : _mm512_setzero_ps();
        for (int64_t i = 0; i < CPU_WOVEN_DEPTH; i++) {
            CPU_UNROLL for (int s = 0; s < steps; s++, k++)
                add_step(sums, a[k], b + k * CPU_MATMUL_PANEL, true);
            add_step(others, factors[i], columns + i * CPU_MATMUL_PANEL, false);
        }
        CPU_UNROLL for (int v = 0; v < PANEL_VECTORS; v++) {
            if (rows->bias) others[v] += _mm512_loadu_ps(rows->bias + v * 16);
            _mm512_storeu_ps(to + v * 16, others[v]);
        }
    }
    for (; k < depth; k++) add_step(sums, a[k], b + k * CPU_MATMUL_PANEL, true);
    CPU_UNROLL for (int v = 0; v < PANEL_VECTORS; v++) _mm512_storeu_ps(out + v * 16, sums[v]);
}

void cpu_matmul_woven_avx512(
    const float *a, const float *b, int64_t depth, float *out, const CpuWovenRows *rows) {
    assert(rows->count * CPU_WOVEN_DEPTH <= depth);
    if (2 * rows->count * CPU_WOVEN_DEPTH <= depth)
        weave(a, b, depth, out, rows, 2);
    else
        weave(a, b, depth, out, rows, 1);
}
