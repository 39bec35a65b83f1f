#include "kernels/cpu/quantized/cpu_blocks_tile.h"

#include <math.h>

#include "kernels/cpu/core/cpu_vector.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { LANES = CPU_BLOCKS_LANES, HALF = LANES / 2 };

typedef uint8_t Bytes16 __attribute__((vector_size(16)));
typedef uint8_t Bytes8 __attribute__((vector_size(8)));

/* ---- weights ---- */

/* Codes as unsigned numbers: those of a signed type are moved by half of their range. */
CPU_INLINE float bias_of(const CpuBlocksColumn *column) {
    return column->is_signed ? (float)(1 << (column->bits - 1)) : 0;
}

/* Sixteen codes of four or two bits as two words of eight, from the lowest bits on. */
CPU_INLINE void load_words(const CpuBlocksColumn *column, const uint8_t *from, uint32_t words[2]) {
    if (column->bits == 4) {
        memcpy(words, from, 2 * sizeof *words);
    } else {
        memcpy(words, from, sizeof *words);
        words[1] = words[0] >> 16;
    }
    if (!column->is_signed) return;
    const uint32_t flip = column->bits == 4 ? 0x88888888u : 0xaaaaaaaau;
    words[0] ^= flip;
    words[1] ^= flip;
}

CPU_INLINE CpuI32x8 codes_8(const CpuBlocksColumn *column, const uint8_t *from, int half) {
    if (column->bits == 8) {
        Bytes8 bytes;
        memcpy(&bytes, from + half * HALF, sizeof bytes);
        return __builtin_convertvector(bytes, CpuI32x8) ^ (column->is_signed ? 128 : 0);
    }
    const CpuI32x8 lanes = {0, 1, 2, 3, 4, 5, 6, 7};
    uint32_t words[2];
    load_words(column, from, words);
    const CpuI32x8 all = (int32_t)words[half] - (CpuI32x8){0};
    const CpuI32x8 mask = (int32_t)((1 << column->bits) - 1) - (CpuI32x8){0};
    return (all >> (lanes * (int32_t)column->bits)) & mask;
}

CPU_INLINE CpuI32x16 codes_16(const CpuBlocksColumn *column, const uint8_t *from) {
    if (column->bits == 8) {
        Bytes16 bytes;
        memcpy(&bytes, from, sizeof bytes);
        return __builtin_convertvector(bytes, CpuI32x16) ^ (column->is_signed ? 128 : 0);
    }
    const CpuI32x16 lanes = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7};
    uint32_t words[2];
    load_words(column, from, words);
    const CpuI32x8 low = (int32_t)words[0] - (CpuI32x8){0};
    const CpuI32x8 high = (int32_t)words[1] - (CpuI32x8){0};
    const CpuI32x16 all =
        __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const CpuI32x16 mask = (int32_t)((1 << column->bits) - 1) - (CpuI32x16){0};
    return (all >> (lanes * (int32_t)column->bits)) & mask;
}

CPU_INLINE void widen_16_halves_body(
    const CpuBlocksColumn *column, const uint8_t *from, float zero, float scale, float *to) {
    for (int half = 0; half < 2; half++)
        *(CpuF32x8Unaligned *)(to + half * HALF) =
            (__builtin_convertvector(codes_8(column, from, half), CpuF32x8) - zero) * scale;
}

CPU_INLINE void widen_16_body(
    const CpuBlocksColumn *column, const uint8_t *from, float zero, float scale, float *to) {
    cpu_f32x16_store(
        to, (__builtin_convertvector(codes_16(column, from), CpuF32x16) - zero) * scale);
}

/* The bytes of the last elements are copied, since those after them may be no memory. */
#define WIDEN_BODY(name, widen_16)                                                                 \
    CPU_INLINE void name(const CpuBlocksColumn *column, int64_t first, int64_t count, float *to) { \
        const int64_t step = LANES * column->bits / 8, end = first + count;                        \
        const uint8_t *from = column->codes + first / LANES * step;                                \
        for (int64_t at = first; at < end;) {                                                      \
            const int64_t block = at / column->block, next = (block + 1) * column->block;          \
            const int64_t stop = next < end ? next : end;                                          \
            const float scale = column->scales[block];                                             \
            float zero = bias_of(column);                                                          \
            if (column->zeros)                                                                     \
                zero += cpu_widen_one(                                                             \
                    column->zeros, column->zero_data, column->first_zero + (uint64_t)block);       \
            for (; at + LANES <= stop; at += LANES, from += step, to += LANES)                     \
                widen_16(column, from, zero, scale, to);                                           \
            if (at == stop) continue;                                                              \
            uint8_t last[LANES] = {0};                                                             \
            memcpy(last, from, (size_t)((stop - at) * column->bits + 7) / 8);                      \
            widen_16(column, last, zero, scale, to);                                               \
            for (int64_t i = stop - at; i < LANES; i++) to[i] = 0;                                 \
            at = stop;                                                                             \
        }                                                                                          \
    }                                                                                              \
    struct widen_body_needs_semicolon

WIDEN_BODY(widen_body, widen_16_body);
WIDEN_BODY(widen_halves_body, widen_16_halves_body);
CPU_VARIANTS_HALVES(widen, (const CpuBlocksColumn *column, int64_t first, int64_t count, float *to),
    (column, first, count, to));

CpuBlocksWiden *cpu_blocks_widen_for(CpuLevel level) { return widen_for(level); }

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
        }
    }
}

#if defined(__x86_64__)
/* ROWS × COLUMNS sums stay in registers, each in PARTS of them. */
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
        for (int64_t k = 0; k < tile->depth; k += LANES) {                                         \
            CPU_UNROLL for (int p = 0; p < (PARTS); p++) {                                         \
                V columns[COLUMNS];                                                                \
                CPU_UNROLL for (int c = 0; c < (COLUMNS); c++) columns[c] =                        \
                    level##_LOAD(w + c * w_row + k + p * (WIDTH));                                 \
                CPU_UNROLL for (int r = 0; r < (ROWS); r++) {                                      \
                    const V left = level##_LOAD(a + r * a_row + k + p * (WIDTH));                  \
                    CPU_UNROLL for (int c = 0; c < (COLUMNS); c++) sums[r][c][p] =                 \
                        level##_ADD(left, columns[c], sums[r][c][p]);                              \
                }                                                                                  \
            }                                                                                      \
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
PRODUCT(avx512, CPU_TARGET_AVX512, __m512, LANES, 1, 4, 4);

#define avx2_LOAD(from) _mm256_loadu_ps(from)
#define avx2_ZERO() _mm256_setzero_ps()
#define avx2_ADD(a, b, sum) _mm256_fmadd_ps(a, b, sum)
#define avx2_STORE(to, sum) _mm256_storeu_ps(to, sum)
PRODUCT(avx2, CPU_TARGET_AVX2, __m256, HALF, 2, 2, 2);
#endif

CpuBlocksProduct *cpu_blocks_product_for(CpuLevel level) {
#if defined(__x86_64__)
    if (level == CPU_LEVEL_AVX512) return product_avx512;
    if (level == CPU_LEVEL_AVX2) return product_avx2;
#endif
    (void)level;
    return product_portable;
}
