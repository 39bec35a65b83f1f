/* The inner kernels of products at lower precision for AVX512_BF16 and AVX512_VNNI: blocks of rows
 * × up to four panels of columns stay in registers over the whole depth. A word is a group of a
 * row: two bfloat16 or four bytes. */
#include "kernels/cpu/quantized/cpu_lower_pack.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/cpu/core/cpu_vector.h"

#define TARGET_DOT                                                                                 \
    __attribute__((                                                                                \
        target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16,avx2,fma,f16c")))
#define DOT_INLINE TARGET_DOT CPU_INLINE

enum { WORD = 4, VECTOR = 64 /* bytes */ };

/* ---- bfloat16 ---- */

DOT_INLINE __m512 bfloat16_start(const CpuLowerTile *tile, int64_t row, int64_t panel) {
    (void)tile, (void)row, (void)panel;
    return _mm512_setzero_ps();
}

DOT_INLINE __m512 bfloat16_load(const float *from) { return _mm512_loadu_ps(from); }

DOT_INLINE __m512 bfloat16_add(__m512 sum, __m512i words, __m512i column) {
    return _mm512_dpbf16_ps(sum, (__m512bh)words, (__m512bh)column);
}

DOT_INLINE void bfloat16_store(float *to, __m512 sum) { _mm512_storeu_ps(to, sum); }

/* ---- int8 ---- */

DOT_INLINE __m512i int8_start(const CpuLowerTile *tile, int64_t row, int64_t panel) {
    const __m512i head = _mm512_loadu_si512((const char *)tile->heads + panel * tile->b_panel);
    return _mm512_sub_epi32(
        _mm512_setzero_si512(), _mm512_mullo_epi32(head, _mm512_set1_epi32(tile->zeros[row])));
}

DOT_INLINE __m512i int8_load(const int32_t *from) { return _mm512_loadu_si512(from); }

DOT_INLINE __m512i int8_add(__m512i sum, __m512i words, __m512i column) {
    return _mm512_dpbusd_epi32(sum, words, column);
}

DOT_INLINE void int8_store(int32_t *to, __m512i sum) { _mm512_storeu_si512(to, sum); }

/* Four rows become sixteen quads; the dot product of a quad with ones is its sum. */
TARGET_DOT void cpu_lower_pack_quads_dot(
    const uint8_t *b, uint8_t flip, int64_t depth, int64_t columns, int64_t count, char *panel) {
    const __mmask16 mask = count < CPU_LOWER_PANEL ? (__mmask16)((1 << count) - 1) : 0xFFFF;
    const __m128i flips = _mm_set1_epi8((char)flip);
    const __m512i ones = _mm512_set1_epi8(1);
    __m512i head = _mm512_setzero_si512();
    char *to = panel + VECTOR;
    for (int64_t k = 0; k < depth; k += WORD, to += VECTOR) {
        if (kernel_stop_ends_at(k + WORD - 1)) return;
        __m128i rows[WORD];
        CPU_UNROLL for (int i = 0; i < WORD; i++) {
            const __mmask16 there = k + i < depth ? mask : 0;
            rows[i] = _mm_xor_si128(
                _mm_mask_loadu_epi8(flips, there, there ? b + (k + i) * columns : b), flips);
        }
        const __m128i low[2] = {
            _mm_unpacklo_epi8(rows[0], rows[1]), _mm_unpacklo_epi8(rows[2], rows[3])};
        const __m128i high[2] = {
            _mm_unpackhi_epi8(rows[0], rows[1]), _mm_unpackhi_epi8(rows[2], rows[3])};
        __m512i quads = _mm512_castsi128_si512(_mm_unpacklo_epi16(low[0], low[1]));
        quads = _mm512_inserti32x4(quads, _mm_unpackhi_epi16(low[0], low[1]), 1);
        quads = _mm512_inserti32x4(quads, _mm_unpacklo_epi16(high[0], high[1]), 2);
        quads = _mm512_inserti32x4(quads, _mm_unpackhi_epi16(high[0], high[1]), 3);
        head = _mm512_dpbusd_epi32(head, ones, quads);
        _mm512_storeu_si512(to, quads);
    }
    _mm512_storeu_si512(panel, head);
}

/* ---- blocks ---- */

#define DOT_BLOCK(name, V, T, ROWS, PANELS)                                                        \
    TARGET_DOT static void name##_block_##ROWS##x##PANELS(                                         \
        const CpuLowerTile *tile, int64_t row, int64_t panel) {                                    \
        const int64_t a_row = tile->a_row, b_panel = tile->b_panel;                                \
        const char *a = (const char *)tile->a + row * a_row;                                       \
        const char *b = (const char *)tile->b + panel * b_panel;                                   \
        T *out = (T *)tile->out + row * CPU_LOWER_COLUMNS + panel * CPU_LOWER_PANEL;               \
        V sums[ROWS][PANELS];                                                                      \
        CPU_UNROLL for (int r = 0; r < (ROWS); r++) CPU_UNROLL for (int v = 0; v < (PANELS); v++)  \
            sums[r][v] =                                                                           \
                tile->accumulate ? name##_load(out + r * CPU_LOWER_COLUMNS + v * CPU_LOWER_PANEL)  \
                                 : name##_start(tile, row + r, panel + v);                         \
        for (int64_t g = 0; g < tile->groups; g++) {                                               \
            __m512i columns[PANELS];                                                               \
            CPU_UNROLL for (int v = 0; v < (PANELS); v++) columns[v] =                             \
                _mm512_loadu_si512(b + v * b_panel);                                               \
            CPU_UNROLL for (int r = 0; r < (ROWS); r++) {                                          \
                const __m512i words = _mm512_set1_epi32(cpu_word_load(a + r * a_row));             \
                CPU_UNROLL for (int v = 0; v < (PANELS); v++) sums[r][v] =                         \
                    name##_add(sums[r][v], words, columns[v]);                                     \
            }                                                                                      \
            a += WORD;                                                                             \
            b += VECTOR;                                                                           \
        }                                                                                          \
        CPU_UNROLL for (int r = 0; r < (ROWS); r++) CPU_UNROLL for (int v = 0; v < (PANELS); v++)  \
            name##_store(out + r * CPU_LOWER_COLUMNS + v * CPU_LOWER_PANEL, sums[r][v]);           \
    }                                                                                              \
    struct dot_block_needs_semicolon

/* All rows of PANELS panels, MOST at a time. */
#define DOT_ROWS(name, V, T, MOST, PANELS)                                                         \
    DOT_BLOCK(name, V, T, MOST, PANELS);                                                           \
    DOT_BLOCK(name, V, T, 4, PANELS);                                                              \
    DOT_BLOCK(name, V, T, 2, PANELS);                                                              \
    DOT_BLOCK(name, V, T, 1, PANELS);                                                              \
    static void name##_rows_x##PANELS(const CpuLowerTile *tile, int64_t panel) {                   \
        int64_t row = 0;                                                                           \
        for (; row + (MOST) <= tile->rows; row += (MOST))                                          \
            name##_block_##MOST##x##PANELS(tile, row, panel);                                      \
        for (; row + 4 <= tile->rows; row += 4) name##_block_4x##PANELS(tile, row, panel);         \
        for (; row + 2 <= tile->rows; row += 2) name##_block_2x##PANELS(tile, row, panel);         \
        if (row < tile->rows) name##_block_1x##PANELS(tile, row, panel);                           \
    }                                                                                              \
    struct dot_rows_need_semicolon

#define DEFINE_DOT(name, V, T)                                                                     \
    DOT_ROWS(name, V, T, 6, 4);                                                                    \
    DOT_ROWS(name, V, T, 12, 2);                                                                   \
    DOT_ROWS(name, V, T, 16, 1);                                                                   \
    void cpu_lower_product_##name##_dot(const CpuLowerTile *tile) {                                \
        int64_t panel = 0;                                                                         \
        for (; panel + 4 <= tile->panels; panel += 4) name##_rows_x4(tile, panel);                 \
        for (; panel + 2 <= tile->panels; panel += 2) name##_rows_x2(tile, panel);                 \
        if (panel < tile->panels) name##_rows_x1(tile, panel);                                     \
    }                                                                                              \
    struct dot_needs_semicolon

DEFINE_DOT(bfloat16, __m512, float);
DEFINE_DOT(int8, __m512i, int32_t);
#endif
