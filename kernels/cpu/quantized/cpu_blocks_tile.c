#include "kernels/cpu/quantized/cpu_blocks_tile.h"

#include <math.h>

#include "kernels/cpu/core/cpu_vector.h"

#if defined(__x86_64__)
#include "kernels/cpu/quantized/cpu_blocks_sums.h"
#endif

enum { LANES = CPU_BLOCKS_LANES, HALF = LANES / 2 };

/* ---- weights ---- */

/* A code of `bits` bits as a number. */
static float number_of(uint32_t bits, bool is_signed, uint32_t code) {
    const int32_t value = (int32_t)(code & ((1u << bits) - 1)), half = 1 << (bits - 1);
    return (float)(is_signed && value >= half ? value - 2 * half : value);
}

void cpu_blocks_init_values(CpuBlocks *blocks) {
    const uint32_t bits = blocks->bits;
    if (bits == 8) return;
    for (uint32_t zero = 0; zero < CPU_BLOCKS_CODES; zero++)
        for (uint32_t code = 0; code < CPU_BLOCKS_CODES; code++)
            blocks->values[zero][code] =
                number_of(bits, blocks->is_signed, code) - number_of(bits, blocks->is_signed, zero);
}

float cpu_blocks_value(const CpuBlocks *blocks, int64_t column, int64_t k) {
    const uint64_t bit = (uint64_t)(column * blocks->depth + k) * blocks->bits;
    const int64_t index = column * blocks->blocks + k / blocks->block;
    const uint32_t code = (uint32_t)blocks->codes[bit / 8] >> bit % 8;
    if (blocks->bits != 8)
        return blocks->values[cpu_blocks_zero(blocks, index)][code & ((1u << blocks->bits) - 1)];
    const float value = number_of(8, blocks->is_signed, code);
    return blocks->has_zeros ? value - cpu_blocks_zero_8(blocks, index) : value;
}

void cpu_blocks_widen_plain(
    const CpuBlocks *blocks, int64_t column, int64_t first, int64_t count, float *to) {
    for (int64_t i = 0; i < count; i++)
        to[i] = cpu_blocks_value(blocks, column, first + i) *
                blocks->scales[column * blocks->blocks + (first + i) / blocks->block];
    for (int64_t i = count; i % LANES != 0; i++) to[i] = 0;
}

#if defined(__x86_64__)
/* Sixteen weights of a block whose values or scale are in two registers or one. */
CPU_TARGET_AVX512 CPU_INLINE void sixteen_avx512(const CpuBlocks *blocks, uint32_t bits,
    const uint8_t *from, __m512 values, __m512 zero, float *to) {
    if (bits == 8) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)from);
        const __m512i codes =
            blocks->is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
        _mm512_storeu_ps(to, _mm512_mul_ps(_mm512_sub_ps(_mm512_cvtepi32_ps(codes), zero), values));
        return;
    }
    __m512i codes = _mm512_set1_epi32(cpu_word_load(from));
    __m512i shifts = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    if (bits == 4) {
        shifts = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
        codes = _mm512_mask_set1_epi32(codes, 0xff00, cpu_word_load(from + 4));
    }
    _mm512_storeu_ps(to, _mm512_permutexvar_ps(_mm512_srlv_epi32(codes, shifts), values));
}

CPU_TARGET_AVX2 CPU_INLINE void eight_avx2(const CpuBlocks *blocks, uint32_t bits,
    const uint8_t *from, int half, const __m256 *values, __m256 zero, float *to) {
    if (bits == 8) {
        const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)(from + half * HALF));
        const __m256i codes =
            blocks->is_signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes);
        _mm256_storeu_ps(
            to, _mm256_mul_ps(_mm256_sub_ps(_mm256_cvtepi32_ps(codes), zero), values[0]));
        return;
    }
    const bool is_four = bits == 4;
    const __m256i words =
        _mm256_set1_epi32(is_four ? cpu_word_load(from + half * 4)
                                  : (int32_t)((uint32_t)cpu_word_load(from) >> half * 16));
    const __m256i shifts = is_four ? _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28)
                                   : _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14);
    const __m256i codes = _mm256_srlv_epi32(words, shifts);
    const __m256 low = _mm256_permutevar8x32_ps(values[0], codes);
    const __m256 high = _mm256_permutevar8x32_ps(values[1], codes);
    _mm256_storeu_ps(
        to, is_four ? _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(codes, 28)))
                    : low);
}

CPU_TARGET_AVX512 CPU_INLINE void run_of_sixteens_avx512(const CpuBlocks *blocks, uint32_t bits,
    const uint8_t *from, int64_t index, int64_t count, float *to) {
    const __m512 scale = _mm512_set1_ps(blocks->scales[index]);
    __m512 values = scale, zero = _mm512_setzero_ps();
    if (bits == 8)
        zero = _mm512_set1_ps(cpu_blocks_zero_8(blocks, index));
    else
        values =
            _mm512_mul_ps(_mm512_loadu_ps(blocks->values[cpu_blocks_zero(blocks, index)]), scale);
    const int64_t step = (int64_t)bits * LANES / 8;
    for (int64_t i = 0; i < count; i += LANES, from += step)
        sixteen_avx512(blocks, bits, from, values, zero, to + i);
}

CPU_TARGET_AVX2 CPU_INLINE void run_of_sixteens_avx2(const CpuBlocks *blocks, uint32_t bits,
    const uint8_t *from, int64_t index, int64_t count, float *to) {
    const __m256 scale = _mm256_set1_ps(blocks->scales[index]);
    __m256 values[2] = {scale, scale}, zero = _mm256_setzero_ps();
    if (bits == 8) {
        zero = _mm256_set1_ps(cpu_blocks_zero_8(blocks, index));
    } else {
        const float *plain = blocks->values[cpu_blocks_zero(blocks, index)];
        values[0] = _mm256_mul_ps(_mm256_loadu_ps(plain), scale);
        values[1] = _mm256_mul_ps(_mm256_loadu_ps(plain + HALF), scale);
    }
    const int64_t step = (int64_t)bits * LANES / 8;
    for (int64_t i = 0; i < count; i += LANES, from += step) {
        eight_avx2(blocks, bits, from, 0, values, zero, to + i);
        eight_avx2(blocks, bits, from, 1, values, zero, to + i + HALF);
    }
}

/* The bytes of the last elements are copied, since those after them may be no memory. */
#define DEFINE_WIDEN(level, TARGET, BITS)                                                          \
    TARGET static void widen_##level##_##BITS(                                                     \
        const CpuBlocks *blocks, int64_t column, int64_t first, int64_t count, float *to) {        \
        const int64_t end = first + count;                                                         \
        const uint8_t *codes = blocks->codes + column * blocks->depth * (BITS) / 8;                \
        for (int64_t at = first; at < end;) {                                                      \
            const int64_t block = at / blocks->block, next = (block + 1) * blocks->block;          \
            const int64_t stop = next < end ? next : end, whole = (stop - at) / LANES * LANES;     \
            const int64_t index = column * blocks->blocks + block, left = stop - at - whole;       \
            const uint8_t *from = codes + at * (BITS) / 8;                                         \
            run_of_sixteens_##level(blocks, BITS, from, index, whole, to);                         \
            to += whole;                                                                           \
            if (left > 0) {                                                                        \
                uint8_t last[LANES] = {0};                                                         \
                memcpy(last, from + whole * (BITS) / 8, (size_t)(left * (BITS) + 7) / 8);          \
                run_of_sixteens_##level(blocks, BITS, last, index, LANES, to);                     \
                for (int64_t i = left; i < LANES; i++) to[i] = 0;                                  \
            }                                                                                      \
            at = stop;                                                                             \
        }                                                                                          \
    }                                                                                              \
    struct widen_needs_semicolon

#define DEFINE_WIDEN_LEVEL(level, TARGET)                                                          \
    DEFINE_WIDEN(level, TARGET, 2);                                                                \
    DEFINE_WIDEN(level, TARGET, 4);                                                                \
    DEFINE_WIDEN(level, TARGET, 8);                                                                \
    static CpuBlocksWiden *widen_##level(uint32_t bits) {                                          \
        return bits == 2 ? widen_##level##_2 : bits == 4 ? widen_##level##_4 : widen_##level##_8;  \
    }                                                                                              \
    struct widen_level_needs_semicolon

DEFINE_WIDEN_LEVEL(avx512, CPU_TARGET_AVX512);
DEFINE_WIDEN_LEVEL(avx2, CPU_TARGET_AVX2);
#endif

CpuBlocksWiden *cpu_blocks_widen_for(CpuLevel level, uint32_t bits) {
#if defined(__x86_64__)
    if (level == CPU_LEVEL_AVX512) return widen_avx512(bits);
    if (level == CPU_LEVEL_AVX2) return widen_avx2(bits);
#endif
    (void)level, (void)bits;
    return cpu_blocks_widen_plain;
}

/* Zero points are read as codes of one column with the scale 1. */
void cpu_blocks_zeros(
    const CpuBlocks *blocks, CpuBlocksWiden *widen, int64_t column, int64_t columns, float *to) {
    static const float one = 1;
    CpuBlocks zeros = *blocks;
    zeros.codes = blocks->zeros;
    zeros.scales = &one;
    zeros.has_zeros = false;
    zeros.depth = blocks->columns * blocks->blocks;
    zeros.block = INT64_C(1) << 62;
    zeros.blocks = 1;
    widen(&zeros, 0, column * blocks->blocks, columns * blocks->blocks, to);
}

/* ---- products ---- */

static void product_portable(const CpuBlocksTile *tile) {
    for (int64_t row = 0; row < tile->rows; row++) {
        for (int64_t column = 0; column < tile->columns; column++) {
            const float *a = tile->a + row * tile->a_row;
            const float *weights = tile->weights + column * tile->weights_row;
            float *sums = tile->sums + (row * tile->sums_row + column) * LANES;
            if (!tile->accumulate) memset(sums, 0, LANES * sizeof *sums);
            for (int64_t k = 0; k < tile->depth; k++)
                sums[k % LANES] = fmaf(a[k], weights[k], sums[k % LANES]);
            if (tile->is_last)
                tile->out[row * tile->out_row + column] = cpu_f32x16_sum(cpu_f32x16_load(sums));
        }
    }
}

#if defined(__x86_64__)
/* ROWS × COLUMNS sums stay in registers, one of their PARTS after the other. */
#define BLOCK(level, TARGET, V, WIDTH, PARTS, ROWS, COLUMNS)                                       \
    TARGET static void level##_##ROWS##x##COLUMNS(                                                 \
        const CpuBlocksTile *tile, int64_t row, int64_t column) {                                  \
        const int64_t a_row = tile->a_row, w_row = tile->weights_row;                              \
        const float *a = tile->a + row * a_row, *w = tile->weights + column * w_row;               \
        float *out = tile->sums + (row * tile->sums_row + column) * LANES;                         \
        V sums[ROWS][COLUMNS][PARTS];                                                              \
        CPU_UNROLL for (int r = 0; r < (ROWS); r++) CPU_UNROLL for (int c = 0; c < (COLUMNS); c++) \
            CPU_UNROLL for (int p = 0; p < (PARTS); p++) sums[r][c][p] =                           \
                tile->accumulate                                                                   \
                    ? level##_LOAD(out + (r * tile->sums_row + c) * LANES + p * (WIDTH))           \
                    : level##_ZERO();                                                              \
        CPU_UNROLL for (int p = 0; p < (PARTS); p++) {                                             \
            for (int64_t k = p * (WIDTH); k < tile->depth; k += LANES) {                           \
                V left[ROWS];                                                                      \
                CPU_UNROLL for (int r = 0; r < (ROWS); r++) left[r] =                              \
                    level##_LOAD(a + r * a_row + k);                                               \
                CPU_UNROLL for (int c = 0; c < (COLUMNS); c++) {                                   \
                    V right = level##_LOAD(w + c * w_row + k);                                     \
                    CPU_IN_REGISTER(right);                                                        \
                    CPU_UNROLL for (int r = 0; r < (ROWS); r++) sums[r][c][p] =                    \
                        level##_ADD(left[r], right, sums[r][c][p]);                                \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        if (tile->is_last) {                                                                       \
            CPU_UNROLL for (int r = 0; r < (ROWS); r++) level##_FINISH(                            \
                &sums[r][0][0], COLUMNS, tile->out + (row + r) * tile->out_row + column);          \
            return;                                                                                \
        }                                                                                          \
        CPU_UNROLL for (int r = 0; r < (ROWS); r++) CPU_UNROLL for (int c = 0; c < (COLUMNS); c++) \
            CPU_UNROLL for (int p = 0; p < (PARTS); p++) level##_STORE(                            \
                out + (r * tile->sums_row + c) * LANES + p * (WIDTH), sums[r][c][p]);              \
    }                                                                                              \
    struct block_needs_semicolon

/* All of a tile: ROWS × COLUMNS at a time, then single rows of four columns, then what is left. */
#define PRODUCT(level, TARGET, V, WIDTH, PARTS, ROWS, COLUMNS)                                     \
    BLOCK(level, TARGET, V, WIDTH, PARTS, ROWS, COLUMNS);                                          \
    BLOCK(level, TARGET, V, WIDTH, PARTS, ROWS, 1);                                                \
    BLOCK(level, TARGET, V, WIDTH, PARTS, 1, 4);                                                   \
    BLOCK(level, TARGET, V, WIDTH, PARTS, 1, 1);                                                   \
    static void product_##level(const CpuBlocksTile *tile) {                                       \
        int64_t row = 0;                                                                           \
        for (; row + (ROWS) <= tile->rows; row += (ROWS)) {                                        \
            int64_t column = 0;                                                                    \
            for (; column + (COLUMNS) <= tile->columns; column += (COLUMNS))                       \
                level##_##ROWS##x##COLUMNS(tile, row, column);                                     \
            for (; column < tile->columns; column++) level##_##ROWS##x1(tile, row, column);        \
        }                                                                                          \
        for (; row < tile->rows; row++) {                                                          \
            int64_t column = 0;                                                                    \
            for (; column + 4 <= tile->columns; column += 4) level##_1x4(tile, row, column);       \
            for (; column < tile->columns; column++) level##_1x1(tile, row, column);               \
        }                                                                                          \
    }                                                                                              \
    struct product_needs_semicolon

#define avx512_LOAD(from) _mm512_loadu_ps(from)
#define avx512_ZERO() _mm512_setzero_ps()
#define avx512_ADD(a, b, sum) _mm512_fmadd_ps(a, b, sum)
#define avx512_STORE(to, sum) _mm512_storeu_ps(to, sum)
#define avx512_FINISH(sums, columns, to) cpu_blocks_store_avx512(sums, columns, to)
PRODUCT(avx512, CPU_TARGET_AVX512, __m512, LANES, 1, 3, 8);

#define avx2_LOAD(from) _mm256_loadu_ps(from)
#define avx2_ZERO() _mm256_setzero_ps()
#define avx2_ADD(a, b, sum) _mm256_fmadd_ps(a, b, sum)
#define avx2_STORE(to, sum) _mm256_storeu_ps(to, sum)
#define avx2_FINISH(sums, columns, to)                                                             \
    CPU_UNROLL for (int c = 0; c < (columns); c++)(to)[c] =                                        \
        cpu_blocks_sum_avx2((sums)[2 * c], (sums)[2 * c + 1])
PRODUCT(avx2, CPU_TARGET_AVX2, __m256, HALF, 2, 3, 4);
#endif

CpuBlocksProduct *cpu_blocks_product_for(CpuLevel level) {
#if defined(__x86_64__)
    if (level == CPU_LEVEL_AVX512) return product_avx512;
    if (level == CPU_LEVEL_AVX2) return product_avx2;
#endif
    (void)level;
    return product_portable;
}
