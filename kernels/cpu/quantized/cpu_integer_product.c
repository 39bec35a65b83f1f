#include "kernels/cpu/quantized/cpu_integer_product.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <string.h>

#include "kernels/cpu/core/cpu_vector.h"

static void portable_row(const CpuIntegerTile *tile, int64_t row, int64_t panel) {
    uint32_t sums[CPU_INTEGER_PANEL] = {0};
    const int16_t *a = tile->a + row * tile->a_row;
    const int16_t *b = tile->b + panel * tile->b_panel;
    for (int64_t p = 0; p < tile->pairs; p++) {
        const int32_t first = a[2 * p], second = a[2 * p + 1];
        for (int c = 0; c < CPU_INTEGER_PANEL; c++)
            sums[c] += (uint32_t)(first * b[2 * c] + second * b[2 * c + 1]);
        b += 2 * CPU_INTEGER_PANEL;
    }
    memcpy(tile->out + row * tile->out_row + panel * CPU_INTEGER_PANEL, sums, sizeof sums);
}

static void product_portable(const CpuIntegerTile *tile) {
    for (int64_t panel = 0; panel < tile->panels; panel++)
        for (int64_t row = 0; row < tile->rows; row++) portable_row(tile, row, panel);
}

#if defined(__x86_64__)
#define AVX2_BLOCK(ROWS)                                                                           \
    CPU_TARGET_AVX2 static void avx2_block_##ROWS(                                                 \
        const CpuIntegerTile *tile, int64_t row, int64_t panel) {                                  \
        __m256i sums[ROWS][2];                                                                     \
        const int16_t *a = tile->a + row * tile->a_row;                                            \
        const int16_t *b = tile->b + panel * tile->b_panel;                                        \
        int32_t *out = tile->out + row * tile->out_row + panel * CPU_INTEGER_PANEL;                \
        CPU_UNROLL for (int r = 0; r < (ROWS); r++) sums[r][0] = sums[r][1] =                      \
            _mm256_setzero_si256();                                                                \
        for (int64_t p = 0; p < tile->pairs; p++) {                                                \
            const __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)b);              \
            const __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(b + 16));      \
            CPU_UNROLL for (int r = 0; r < (ROWS); r++) {                                          \
                const __m256i pair =                                                               \
                    _mm256_set1_epi32(cpu_word_load(a + r * tile->a_row + 2 * p));                 \
                sums[r][0] = _mm256_add_epi32(sums[r][0], _mm256_madd_epi16(pair, low));           \
                sums[r][1] = _mm256_add_epi32(sums[r][1], _mm256_madd_epi16(pair, high));          \
            }                                                                                      \
            b += 2 * CPU_INTEGER_PANEL;                                                            \
        }                                                                                          \
        CPU_UNROLL for (int r = 0; r < (ROWS); r++) {                                              \
            __m256i *to = (__m256i *)(void *)(out + r * tile->out_row);                            \
            _mm256_storeu_si256(to, sums[r][0]);                                                   \
            _mm256_storeu_si256(to + 1, sums[r][1]);                                               \
        }                                                                                          \
    }                                                                                              \
    struct avx2_block_needs_semicolon

AVX2_BLOCK(4);
AVX2_BLOCK(1);

CPU_TARGET_AVX2 static void product_avx2(const CpuIntegerTile *tile) {
    for (int64_t panel = 0; panel < tile->panels; panel++) {
        int64_t row = 0;
        for (; row + 4 <= tile->rows; row += 4) avx2_block_4(tile, row, panel);
        for (; row < tile->rows; row++) avx2_block_1(tile, row, panel);
    }
}

#define AVX512_BLOCK(ROWS, PANELS)                                                                 \
    CPU_TARGET_AVX512 static void avx512_block_##ROWS##x##PANELS(                                  \
        const CpuIntegerTile *tile, int64_t row, int64_t panel) {                                  \
        __m512i sums[ROWS][PANELS];                                                                \
        const int16_t *a = tile->a + row * tile->a_row;                                            \
        const int16_t *b = tile->b + panel * tile->b_panel;                                        \
        int32_t *out = tile->out + row * tile->out_row + panel * CPU_INTEGER_PANEL;                \
        CPU_UNROLL for (int r = 0; r < (ROWS); r++) CPU_UNROLL for (int v = 0; v < (PANELS); v++)  \
            sums[r][v] = _mm512_setzero_si512();                                                   \
        for (int64_t p = 0; p < tile->pairs; p++) {                                                \
            __m512i columns[PANELS];                                                               \
            CPU_UNROLL for (int v = 0; v < (PANELS); v++) columns[v] =                             \
                _mm512_loadu_si512(b + v * tile->b_panel);                                         \
            CPU_UNROLL for (int r = 0; r < (ROWS); r++) {                                          \
                const __m512i pair =                                                               \
                    _mm512_set1_epi32(cpu_word_load(a + r * tile->a_row + 2 * p));                 \
                CPU_UNROLL for (int v = 0; v < (PANELS); v++) sums[r][v] =                         \
                    _mm512_add_epi32(sums[r][v], _mm512_madd_epi16(pair, columns[v]));             \
            }                                                                                      \
            b += 2 * CPU_INTEGER_PANEL;                                                            \
        }                                                                                          \
        CPU_UNROLL for (int r = 0; r < (ROWS); r++) CPU_UNROLL for (int v = 0; v < (PANELS); v++)  \
            _mm512_storeu_si512(out + r * tile->out_row + v * CPU_INTEGER_PANEL, sums[r][v]);      \
    }                                                                                              \
    struct avx512_block_needs_semicolon

AVX512_BLOCK(8, 2);
AVX512_BLOCK(1, 2);
AVX512_BLOCK(8, 1);
AVX512_BLOCK(1, 1);

CPU_TARGET_AVX512 static void product_avx512(const CpuIntegerTile *tile) {
    int64_t panel = 0;
    for (; panel + 2 <= tile->panels; panel += 2) {
        int64_t row = 0;
        for (; row + 8 <= tile->rows; row += 8) avx512_block_8x2(tile, row, panel);
        for (; row < tile->rows; row++) avx512_block_1x2(tile, row, panel);
    }
    for (; panel < tile->panels; panel++) {
        int64_t row = 0;
        for (; row + 8 <= tile->rows; row += 8) avx512_block_8x1(tile, row, panel);
        for (; row < tile->rows; row++) avx512_block_1x1(tile, row, panel);
    }
}
#endif

CpuIntegerProduct *cpu_integer_product_for(CpuLevel level) {
#if defined(__x86_64__)
    if (level == CPU_LEVEL_AVX512) return product_avx512;
    if (level == CPU_LEVEL_AVX2) return product_avx2;
#endif
    (void)level;
    return product_portable;
}

void cpu_integer_sum(CpuIntegerProduct *product, const CpuIntegerTile *tile) {
    enum { PAIRS = 1 << 16 };
    int32_t sums[CPU_INTEGER_ROWS * CPU_INTEGER_COLUMNS];
    CpuIntegerTile piece = *tile;
    if (tile->pairs <= PAIRS) {
        product(tile);
        return;
    }
    for (int64_t pair = 0; pair < tile->pairs && !kernel_stop_ends(); pair += PAIRS) {
        piece.pairs = tile->pairs - pair < PAIRS ? tile->pairs - pair : PAIRS;
        piece.a = tile->a + 2 * pair;
        piece.b = tile->b + 2 * pair * CPU_INTEGER_PANEL;
        piece.out = pair == 0 ? tile->out : sums;
        product(&piece);
        for (int64_t row = 0; pair > 0 && row < tile->rows; row++)
            for (int64_t i = row * tile->out_row, left = tile->panels * CPU_INTEGER_PANEL; left > 0;
                 i++, left--)
                tile->out[i] = (int32_t)((uint32_t)tile->out[i] + (uint32_t)sums[i]);
    }
}
