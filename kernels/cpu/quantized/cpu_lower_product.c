#include "kernels/cpu/quantized/cpu_lower_product.h"

#include <string.h>

#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/cpu/core/cpu_layouts.h"
#include "kernels/cpu/core/cpu_vector.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

const CpuLowerFormInfo cpu_lower_forms[CPU_LOWER_FORM_COUNT] = {
    [CPU_LOWER_BFLOAT16] = {false, CPU_LAYOUT_PAIRS_BFLOAT16, 2, 4, 2, 0},
    [CPU_LOWER_BFLOAT16_DOT] = {false, CPU_LAYOUT_PAIRS_BFLOAT16, 2, 2, 2, 0},
    [CPU_LOWER_INT8] = {true, CPU_LAYOUT_PAIRS_INT8, 2, 2, 1, 0},
    [CPU_LOWER_INT8_DOT] = {true, CPU_LAYOUT_QUADS_INT8, 4, 1, 1, CPU_LOWER_PANEL * 4},
};

CpuLowerForm cpu_lower_form(const CpuDevice *device, bool is_int8) {
    if (is_int8) return device->has_vnni ? CPU_LOWER_INT8_DOT : CPU_LOWER_INT8;
    return device->has_bfloat16 ? CPU_LOWER_BFLOAT16_DOT : CPU_LOWER_BFLOAT16;
}

/* ---- any machine: no fused multiply-add ---- */

static const void *row_at(const CpuLowerTile *tile, int64_t row) {
    return (const char *)tile->a + (tile->offsets ? tile->offsets[row] : row * tile->a_row);
}

static const void *panel_at(const CpuLowerTile *tile, int64_t panel) {
    return (const char *)tile->b + panel * tile->b_panel;
}

typedef uint32_t U32x16Unaligned __attribute__((vector_size(64), aligned(2), may_alias));

/* A bfloat16 is the upper half of a float32. Written with vectors: from a loop over columns that
 * adds the second of a pair first, gcc 12 at -O3 makes code with other sums. */
static void bfloat16_portable_row(const CpuLowerTile *tile, int64_t row, int64_t panel) {
    const float *a = row_at(tile, row);
    const uint16_t *b = panel_at(tile, panel);
    float *out = (float *)tile->out + row * CPU_LOWER_COLUMNS + panel * CPU_LOWER_PANEL;
    CpuF32x16 sums = tile->accumulate ? cpu_f32x16_load(out) : (CpuF32x16){0};
    for (int64_t p = 0; p < tile->groups; p++, a += 2, b += 2 * CPU_LOWER_PANEL) {
        const U32x16Unaligned pairs = *(const U32x16Unaligned *)b;
        sums += a[1] * (CpuF32x16)(pairs & 0xFFFF0000u);
        sums += a[0] * (CpuF32x16)(pairs << 16);
    }
    cpu_f32x16_store(out, sums);
}

static void int8_portable_row(const CpuLowerTile *tile, int64_t row, int64_t panel) {
    const int64_t none = 0, count = tile->offsets ? tile->piece_count : 1;
    const int64_t *pieces = tile->offsets ? tile->pieces : &none;
    const int8_t *b = panel_at(tile, panel);
    int32_t *out = (int32_t *)tile->out + row * CPU_LOWER_COLUMNS + panel * CPU_LOWER_PANEL;
    uint32_t sums[CPU_LOWER_PANEL] = {0};
    if (tile->accumulate) memcpy(sums, out, sizeof sums);
    for (int64_t i = 0; i < count; i++) {
        const int16_t *a = (const void *)((const char *)row_at(tile, row) + pieces[i]);
        for (int64_t p = 0; p < tile->groups; p++, a += 2, b += 2 * CPU_LOWER_PANEL)
            for (int c = 0; c < CPU_LOWER_PANEL; c++)
                sums[c] += (uint32_t)(a[0] * b[2 * c] + a[1] * b[2 * c + 1]);
    }
    memcpy(out, sums, sizeof sums);
}

static void bfloat16_portable(const CpuLowerTile *tile) {
    for (int64_t panel = 0; panel < tile->panels; panel++)
        for (int64_t row = 0; row < tile->rows; row++) bfloat16_portable_row(tile, row, panel);
}

static void int8_portable(const CpuLowerTile *tile) {
    for (int64_t panel = 0; panel < tile->panels; panel++)
        for (int64_t row = 0; row < tile->rows; row++) int8_portable_row(tile, row, panel);
}

/* ---- AVX2, which every machine with AVX-512 has too ---- */

#if defined(__x86_64__)
enum { LINE = 64 /* bytes of a cache */ };

/* ROWS × PANELS × two vectors of sums. A bfloat16 is the upper half of a float32: a mask gives the
 * second of a pair, a shift the first. */
#define BFLOAT16_BLOCK(ROWS, PANELS)                                                               \
    CPU_TARGET_AVX2 static void bfloat16_block_##ROWS##x##PANELS(                                  \
        const CpuLowerTile *tile, int64_t row, int64_t panel) {                                    \
        enum { VECTORS = 2 * (PANELS) };                                                           \
        const __m256i upper = _mm256_set1_epi32((int32_t)0xFFFF0000);                              \
        const float *a = row_at(tile, row);                                                        \
        const uint16_t *b = panel_at(tile, panel);                                                 \
        float *out = (float *)tile->out + row * CPU_LOWER_COLUMNS + panel * CPU_LOWER_PANEL;       \
        const int64_t a_row = tile->a_row / 4, b_panel = tile->b_panel / 2;                        \
        __m256 sums[ROWS][VECTORS];                                                                \
        CPU_UNROLL for (int r = 0; r < (ROWS); r++) CPU_UNROLL for (int v = 0; v < VECTORS; v++)   \
            sums[r][v] = tile->accumulate ? _mm256_loadu_ps(out + r * CPU_LOWER_COLUMNS + v * 8)   \
                                          : _mm256_setzero_ps();                                   \
        for (int64_t p = 0; p < tile->groups; p++) {                                               \
            __m256i pairs[VECTORS];                                                                \
            CPU_UNROLL for (int v = 0; v < VECTORS; v++) pairs[v] = _mm256_loadu_si256(            \
                (const __m256i *)(const void *)(b + v / 2 * b_panel + v % 2 * 16));                \
            CPU_UNROLL for (int r = 0; r < (ROWS); r++) {                                          \
                const __m256 second = _mm256_broadcast_ss(a + r * a_row + 1);                      \
                CPU_UNROLL for (int v = 0; v < VECTORS; v++) sums[r][v] = _mm256_fmadd_ps(         \
                    second, _mm256_castsi256_ps(_mm256_and_si256(pairs[v], upper)), sums[r][v]);   \
            }                                                                                      \
            CPU_UNROLL for (int r = 0; r < (ROWS); r++) {                                          \
                const __m256 first = _mm256_broadcast_ss(a + r * a_row);                           \
                CPU_UNROLL for (int v = 0; v < VECTORS; v++) sums[r][v] = _mm256_fmadd_ps(         \
                    first, _mm256_castsi256_ps(_mm256_slli_epi32(pairs[v], 16)), sums[r][v]);      \
            }                                                                                      \
            a += 2;                                                                                \
            b += 2 * CPU_LOWER_PANEL;                                                              \
        }                                                                                          \
        CPU_UNROLL for (int r = 0; r < (ROWS); r++) CPU_UNROLL for (int v = 0; v < VECTORS; v++)   \
            _mm256_storeu_ps(out + r * CPU_LOWER_COLUMNS + v * 8, sums[r][v]);                     \
    }                                                                                              \
    struct bfloat16_block_needs_semicolon

BFLOAT16_BLOCK(6, 1);
BFLOAT16_BLOCK(4, 1);
BFLOAT16_BLOCK(2, 1);
BFLOAT16_BLOCK(1, 1);
BFLOAT16_BLOCK(2, 2);
BFLOAT16_BLOCK(1, 4);

#define INT8_BLOCK(ROWS, PANELS)                                                                   \
    CPU_TARGET_AVX2 static void int8_block_##ROWS##x##PANELS(                                      \
        const CpuLowerTile *tile, int64_t row, int64_t panel) {                                    \
        enum { VECTORS = 2 * (PANELS) };                                                           \
        const int64_t none = 0, count = tile->offsets ? tile->piece_count : 1;                     \
        const int64_t *pieces = tile->offsets ? tile->pieces : &none;                              \
        const int8_t *b = panel_at(tile, panel);                                                   \
        int32_t *out = (int32_t *)tile->out + row * CPU_LOWER_COLUMNS + panel * CPU_LOWER_PANEL;   \
        const int64_t b_panel = tile->b_panel;                                                     \
        const char *a[ROWS];                                                                       \
        __m256i sums[ROWS][VECTORS];                                                               \
        CPU_UNROLL for (int r = 0; r < (ROWS); r++) a[r] = row_at(tile, row + r);                  \
        CPU_UNROLL for (int r = 0; r < (ROWS); r++) CPU_UNROLL for (int v = 0; v < VECTORS; v++)   \
            sums[r][v] =                                                                           \
                tile->accumulate                                                                   \
                    ? _mm256_loadu_si256(                                                          \
                          (const __m256i *)(const void *)(out + r * CPU_LOWER_COLUMNS + v * 8))    \
                    : _mm256_setzero_si256();                                                      \
        for (int64_t piece = 0; piece < count; piece++) {                                          \
            const int64_t first = pieces[piece], end = first + tile->groups * 4;                   \
            for (int64_t at = first; at < end; at += 4) {                                          \
                __m256i pairs[VECTORS];                                                            \
                CPU_UNROLL for (int v = 0; v < VECTORS; v++) pairs[v] =                            \
                    _mm256_cvtepi8_epi16(_mm_loadu_si128(                                          \
                        (const __m128i *)(const void *)(b + v / 2 * b_panel + v % 2 * 16)));       \
                CPU_UNROLL for (int r = 0; r < (ROWS); r++) {                                      \
                    const __m256i pair = _mm256_set1_epi32(cpu_word_load(a[r] + at));              \
                    CPU_UNROLL for (int v = 0; v < VECTORS; v++) sums[r][v] =                      \
                        _mm256_add_epi32(sums[r][v], _mm256_madd_epi16(pair, pairs[v]));           \
                }                                                                                  \
                b += 2 * CPU_LOWER_PANEL;                                                          \
            }                                                                                      \
        }                                                                                          \
        CPU_UNROLL for (int r = 0; r < (ROWS); r++) CPU_UNROLL for (int v = 0; v < VECTORS; v++)   \
            _mm256_storeu_si256(                                                                   \
                (__m256i *)(void *)(out + r * CPU_LOWER_COLUMNS + v * 8), sums[r][v]);             \
    }                                                                                              \
    struct int8_block_needs_semicolon

INT8_BLOCK(6, 1);
INT8_BLOCK(5, 1);
INT8_BLOCK(4, 1);
INT8_BLOCK(3, 1);
INT8_BLOCK(2, 1);
INT8_BLOCK(1, 1);
INT8_BLOCK(2, 2);
INT8_BLOCK(1, 4);

/* A few rows have too few sums to hide the latency of additions, so they take several panels at
 * once. */
#define DEFINE_FEW(name)                                                                           \
    static void name##_few(const CpuLowerTile *tile, int64_t row) {                                \
        int64_t panel;                                                                             \
        for (; row + 2 <= tile->rows; row += 2) {                                                  \
            for (panel = 0; panel + 2 <= tile->panels; panel += 2)                                 \
                name##_block_2x2(tile, row, panel);                                                \
            if (panel < tile->panels) name##_block_2x1(tile, row, panel);                          \
        }                                                                                          \
        if (row == tile->rows) return;                                                             \
        for (panel = 0; panel + 4 <= tile->panels; panel += 4) name##_block_1x4(tile, row, panel); \
        for (; panel < tile->panels; panel++) name##_block_1x1(tile, row, panel);                  \
    }                                                                                              \
    struct few_needs_semicolon

DEFINE_FEW(bfloat16);
DEFINE_FEW(int8);

static void bfloat16_avx2(const CpuLowerTile *tile) {
    int64_t row = 0;
    for (int64_t panel = 0; tile->rows >= 4 && panel < tile->panels; panel++) {
        for (row = 0; row + 6 <= tile->rows; row += 6) bfloat16_block_6x1(tile, row, panel);
        for (; row + 4 <= tile->rows; row += 4) bfloat16_block_4x1(tile, row, panel);
    }
    bfloat16_few(tile, row);
}

/* Asks for lines of weights, which arrive in the second level cache while a step computes. */
static void fetch(const char *from, int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; line++) _mm_prefetch(from + line * LINE, _MM_HINT_T1);
}

/* The rows are cut into steps of about equal size. Each step fetches its part of the weights of the
 * next panel, which may come from memory. */
static void int8_avx2(const CpuLowerTile *tile) {
    enum { MOST = 6, LEAST = 3 };
    static void (*const blocks[MOST + 1])(const CpuLowerTile *, int64_t, int64_t) = {
        [3] = int8_block_3x1, [4] = int8_block_4x1, [5] = int8_block_5x1, [6] = int8_block_6x1};
    if (tile->rows < LEAST) {
        int8_few(tile, 0);
        return;
    }
    const int64_t steps = (tile->rows + MOST - 1) / MOST;
    const int64_t pieces = tile->offsets ? tile->piece_count : 1;
    const int64_t lines = pieces * tile->groups * 2 * CPU_LOWER_PANEL / LINE;
    for (int64_t panel = 0; panel < tile->panels; panel++)
        for (int64_t step = 0; step < steps; step++) {
            const int64_t row = tile->rows * step / steps;
            const char *next = panel + 1 < tile->panels ? panel_at(tile, panel + 1) : tile->b_next;
            if (next) fetch(next, lines * step / steps, lines * (step + 1) / steps);
            blocks[tile->rows * (step + 1) / steps - row](tile, row, panel);
        }
}
#endif

CpuLowerProduct *cpu_lower_product_for(CpuLevel level, CpuLowerForm form) {
#if defined(__x86_64__)
    if (form == CPU_LOWER_BFLOAT16_DOT) return cpu_lower_product_bfloat16_dot;
    if (form == CPU_LOWER_INT8_DOT) return cpu_lower_product_int8_dot;
    if (level >= CPU_LEVEL_AVX2) return form == CPU_LOWER_BFLOAT16 ? bfloat16_avx2 : int8_avx2;
#endif
    (void)level;
    return form == CPU_LOWER_BFLOAT16 ? bfloat16_portable : int8_portable;
}
