/* Few rows times weights in blocks: codes become floats in registers, so that the time is that of
 * reading the weights' bits. These are fetched ahead: a row of a column's codes is too short for a
 * processor to notice its order, and a step without it takes nearly twice the time. Codes of two
 * and four bits choose among sixteen values, which are scaled once for each block. */
#include <string.h>

#include "kernels/cpu/core/cpu_vector.h"
#include "kernels/cpu/quantized/cpu_blocks_tile.h"

#if defined(__x86_64__)
#include "kernels/cpu/quantized/cpu_blocks_sums.h"
#endif

enum { LANES = CPU_BLOCKS_LANES, HALF = LANES / 2, LINE = 64 };

void cpu_blocks_order_rows(uint32_t bits, const float *from, int64_t depth, float *to) {
    if (bits != 4) {
        memcpy(to, from, (size_t)depth * sizeof *to);
        return;
    }
    for (int64_t k = 0; k < depth; k += LANES, from += LANES, to += LANES) {
        const CpuF32x16 all = cpu_f32x16_load(from);
        cpu_f32x16_store(to, __builtin_shufflevector(
                                 all, all, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15));
    }
}

#if defined(__x86_64__)
#define INLINE_512 CPU_TARGET_AVX512 CPU_INLINE
#define INLINE_256 CPU_TARGET_AVX2 CPU_INLINE

/* ---- AVX-512 ---- */

/* What turns the codes of a block into weights. */
typedef struct Block512 {
    __m512 values; /* of 2 and 4 bits: scaled; of 8 bits: the scale */
    __m512 zero;   /* of 8 bits */
} Block512;

INLINE_512 Block512 block_512(
    const CpuBlocks *blocks, uint32_t bits, int64_t index, const float *zero) {
    const __m512 scale = _mm512_set1_ps(blocks->scales[index]);
    if (bits == 8) return (Block512){scale, zero ? _mm512_set1_ps(*zero) : _mm512_setzero_ps()};
    __m512 values = _mm512_loadu_ps(blocks->values[0]);
    if (zero) values = _mm512_sub_ps(values, _mm512_set1_ps(*zero));
    return (Block512){_mm512_mul_ps(values, scale), _mm512_setzero_ps()};
}

INLINE_512 __m512i shifts_512(uint32_t bits) {
    if (bits == 2)
        return _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    return _mm512_setr_epi32(0, 0, 4, 4, 8, 8, 12, 12, 16, 16, 20, 20, 24, 24, 28, 28);
}

/* Sixteen weights. */
INLINE_512 __m512 weights_512(
    uint32_t bits, bool is_signed, const uint8_t *from, __m512i shifts, Block512 block) {
    if (bits == 8) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)from);
        const __m512i codes = is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
        return _mm512_mul_ps(_mm512_sub_ps(_mm512_cvtepi32_ps(codes), block.zero), block.values);
    }
    __m512i words;
    if (bits == 4) {
        int64_t word;
        memcpy(&word, from, sizeof word);
        words = _mm512_set1_epi64(word);
    } else {
        words = _mm512_set1_epi32(cpu_word_load(from));
    }
    return _mm512_permutexvar_ps(_mm512_srlv_epi32(words, shifts), block.values);
}

/* Lanes in the order of the depth. */
INLINE_512 __m512 sorted_512(uint32_t bits, __m512 sums) {
    const __m512i order = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
    return bits == 4 ? _mm512_permutexvar_ps(order, sums) : sums;
}

INLINE_512 void rows_avx512(const CpuBlocksRows *run, uint32_t bits, bool is_signed, int rows,
    int columns, int64_t column) {
    const CpuBlocks *blocks = run->blocks;
    const int64_t depth = blocks->depth, step = (int64_t)bits * LANES / 8;
    const int64_t stride = depth * (int64_t)bits / 8;
    const uint8_t *codes = blocks->codes + column * stride;
    const __m512i shifts = shifts_512(bits);
    __m512 sums[CPU_BLOCKS_ROWS][8];
    CPU_UNROLL for (int r = 0; r < rows; r++) CPU_UNROLL for (int c = 0; c < columns; c++)
        sums[r][c] = _mm512_setzero_ps();
    const int64_t ahead = columns * stride;
    int64_t index = column * blocks->blocks;
    const float *a = run->a;
    const float *zeros = run->zeros ? run->zeros + (column - run->column) * blocks->blocks : NULL;
    for (int64_t at = 0; at < depth; index++) {
        const int64_t next = at + blocks->block, stop = next < depth ? next : depth;
        Block512 block[8];
        CPU_UNROLL for (int c = 0; c < columns; c++) block[c] = block_512(
            blocks, bits, index + c * blocks->blocks, zeros ? zeros + c * blocks->blocks : NULL);
        if (zeros) zeros++;
        for (; at < stop; at += LANES, codes += step, a += LANES) {
            if (at * (int64_t)bits % (8 * LINE) == 0)
                CPU_UNROLL for (int c = 0; c < columns; c++)
                    _mm_prefetch((const char *)codes + c * stride + ahead, _MM_HINT_T0);
            __m512 left[CPU_BLOCKS_ROWS];
            CPU_UNROLL for (int r = 0; r < rows; r++) {
                left[r] = _mm512_loadu_ps(a + r * depth);
                CPU_IN_REGISTER(left[r]);
            }
            CPU_UNROLL for (int c = 0; c < columns; c++) {
                const __m512 weights =
                    weights_512(bits, is_signed, codes + c * stride, shifts, block[c]);
                CPU_UNROLL for (int r = 0; r < rows; r++) sums[r][c] =
                    _mm512_fmadd_ps(left[r], weights, sums[r][c]);
            }
        }
    }
    CPU_UNROLL for (int r = 0; r < rows; r++) {
        CPU_UNROLL for (int c = 0; c < columns; c++) sums[r][c] = sorted_512(bits, sums[r][c]);
        cpu_blocks_store_avx512(sums[r], columns, run->out + r * blocks->columns + column);
    }
}

/* ---- AVX2: the lanes in two halves ---- */

typedef struct Block256 {
    __m256 values[2], zero;
} Block256;

INLINE_256 Block256 block_256(
    const CpuBlocks *blocks, uint32_t bits, int64_t index, const float *zero) {
    const __m256 scale = _mm256_set1_ps(blocks->scales[index]);
    const __m256 zeros = zero ? _mm256_set1_ps(*zero) : _mm256_setzero_ps();
    if (bits == 8) return (Block256){{scale, scale}, zeros};
    const __m256 low = _mm256_loadu_ps(blocks->values[0]);
    const __m256 high = _mm256_loadu_ps(blocks->values[0] + HALF);
    return (Block256){{_mm256_mul_ps(_mm256_sub_ps(low, zeros), scale),
                          _mm256_mul_ps(_mm256_sub_ps(high, zeros), scale)},
        zeros};
}

INLINE_256 __m256i shifts_256(uint32_t bits, int half) {
    if (bits == 2 && half == 0) return _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14);
    if (bits == 2) return _mm256_setr_epi32(16, 18, 20, 22, 24, 26, 28, 30);
    if (half == 0) return _mm256_setr_epi32(0, 0, 4, 4, 8, 8, 12, 12);
    return _mm256_setr_epi32(16, 16, 20, 20, 24, 24, 28, 28);
}

INLINE_256 __m256 weights_256(
    uint32_t bits, bool is_signed, const uint8_t *from, int half, Block256 block) {
    if (bits == 8) {
        const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)(from + half * HALF));
        const __m256i codes = is_signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes);
        return _mm256_mul_ps(_mm256_sub_ps(_mm256_cvtepi32_ps(codes), block.zero), block.values[0]);
    }
    __m256i words;
    if (bits == 4) {
        int64_t word;
        memcpy(&word, from, sizeof word);
        words = _mm256_set1_epi64x(word);
    } else {
        words = _mm256_set1_epi32(cpu_word_load(from));
    }
    const __m256i codes = _mm256_srlv_epi32(words, shifts_256(bits, half));
    const __m256 low = _mm256_permutevar8x32_ps(block.values[0], codes);
    if (bits == 2) return low; /* both halves of the values are equal */
    const __m256 high = _mm256_permutevar8x32_ps(block.values[1], codes);
    return _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(codes, 28)));
}

INLINE_256 float sum_256(uint32_t bits, __m256 first, __m256 second) {
    if (bits == 4) {
        const __m256d even = _mm256_castps_pd(_mm256_shuffle_ps(first, second, 0x88));
        const __m256d odd = _mm256_castps_pd(_mm256_shuffle_ps(first, second, 0xdd));
        first = _mm256_castpd_ps(_mm256_permute4x64_pd(even, 0xd8));
        second = _mm256_castpd_ps(_mm256_permute4x64_pd(odd, 0xd8));
    }
    return cpu_blocks_sum_avx2(first, second);
}

INLINE_256 void rows_avx2(const CpuBlocksRows *run, uint32_t bits, bool is_signed, int rows,
    int columns, int64_t column) {
    const CpuBlocks *blocks = run->blocks;
    const int64_t depth = blocks->depth, step = (int64_t)bits * LANES / 8;
    const int64_t stride = depth * (int64_t)bits / 8;
    const uint8_t *codes = blocks->codes + column * stride;
    __m256 sums[CPU_BLOCKS_ROWS][2][2];
    CPU_UNROLL for (int r = 0; r < rows; r++) CPU_UNROLL for (int c = 0; c < columns; c++)
        sums[r][c][0] = sums[r][c][1] = _mm256_setzero_ps();
    const int64_t ahead = columns * stride;
    int64_t index = column * blocks->blocks;
    const float *a = run->a;
    const float *zeros = run->zeros ? run->zeros + (column - run->column) * blocks->blocks : NULL;
    for (int64_t at = 0; at < depth; index++) {
        const int64_t next = at + blocks->block, stop = next < depth ? next : depth;
        Block256 block[2];
        CPU_UNROLL for (int c = 0; c < columns; c++) block[c] = block_256(
            blocks, bits, index + c * blocks->blocks, zeros ? zeros + c * blocks->blocks : NULL);
        if (zeros) zeros++;
        for (; at < stop; at += LANES, codes += step, a += LANES) {
            if (at * (int64_t)bits % (8 * LINE) == 0)
                CPU_UNROLL for (int c = 0; c < columns; c++)
                    _mm_prefetch((const char *)codes + c * stride + ahead, _MM_HINT_T0);
            CPU_UNROLL for (int c = 0; c < columns; c++) CPU_UNROLL for (int h = 0; h < 2; h++) {
                const __m256 weights =
                    weights_256(bits, is_signed, codes + c * stride, h, block[c]);
                CPU_UNROLL for (int r = 0; r < rows; r++) sums[r][c][h] = _mm256_fmadd_ps(
                    _mm256_loadu_ps(a + r * depth + h * HALF), weights, sums[r][c][h]);
            }
        }
    }
    CPU_UNROLL for (int r = 0; r < rows; r++) CPU_UNROLL for (int c = 0; c < columns; c++)
        run->out[r * blocks->columns + column + c] = sum_256(bits, sums[r][c][0], sums[r][c][1]);
}

/* ---- all rows and columns ---- */

/* COLUMNS at a time, then one by one. */
#define DEFINE_COLUMNS(level, TARGET, BITS, SIGNED, ROWS, COLUMNS)                                 \
    TARGET static void columns_##level##_##BITS##_##SIGNED##_##ROWS(const CpuBlocksRows *run) {    \
        int64_t column = run->column;                                                              \
        const int64_t end = column + run->columns;                                                 \
        for (; column + (COLUMNS) <= end; column += (COLUMNS))                                     \
            rows_##level(run, BITS, SIGNED, ROWS, COLUMNS, column);                                \
        for (; column < end; column++) rows_##level(run, BITS, SIGNED, ROWS, 1, column);           \
    }                                                                                              \
    struct columns_need_semicolon

/* MOST rows at a time, then two, then one. */
#define DEFINE_RUN(level, TARGET, BITS, SIGNED, MOST, MANY, FEW)                                   \
    DEFINE_COLUMNS(level, TARGET, BITS, SIGNED, 1, MANY);                                          \
    DEFINE_COLUMNS(level, TARGET, BITS, SIGNED, 2, FEW);                                           \
    DEFINE_COLUMNS(level, TARGET, BITS, SIGNED, 4, FEW);                                           \
    static void run_##level##_##BITS##_##SIGNED(const CpuBlocksRows *run) {                        \
        CpuBlocksRows rest = *run;                                                                 \
        const int64_t end = run->rows;                                                             \
        for (int64_t row = 0; row < end; row += rest.rows) {                                       \
            rest.rows = end - row >= (MOST) ? (MOST) : end - row >= 2 ? 2 : 1;                     \
            rest.a = run->a + row * run->blocks->depth;                                            \
            rest.out = run->out + row * run->blocks->columns;                                      \
            if (rest.rows == 4)                                                                    \
                columns_##level##_##BITS##_##SIGNED##_4(&rest);                                    \
            else if (rest.rows == 2)                                                               \
                columns_##level##_##BITS##_##SIGNED##_2(&rest);                                    \
            else                                                                                   \
                columns_##level##_##BITS##_##SIGNED##_1(&rest);                                    \
        }                                                                                          \
    }                                                                                              \
    struct run_needs_semicolon

/* Whether codes of two and four bits are signed is in their values. */
#define DEFINE_LEVEL(level, TARGET, MOST, MANY, FEW)                                               \
    DEFINE_RUN(level, TARGET, 2, 0, MOST, MANY, FEW);                                              \
    DEFINE_RUN(level, TARGET, 4, 0, MOST, MANY, FEW);                                              \
    DEFINE_RUN(level, TARGET, 8, 0, MOST, MANY, FEW);                                              \
    DEFINE_RUN(level, TARGET, 8, 1, MOST, MANY, FEW);                                              \
    static CpuBlocksRowsRun *run_##level(uint32_t bits, bool is_signed) {                          \
        if (bits == 2) return run_##level##_2_0;                                                   \
        if (bits == 4) return run_##level##_4_0;                                                   \
        return is_signed ? run_##level##_8_1 : run_##level##_8_0;                                  \
    }                                                                                              \
    struct level_needs_semicolon

DEFINE_LEVEL(avx512, CPU_TARGET_AVX512, 4, 8, 4);
DEFINE_LEVEL(avx2, CPU_TARGET_AVX2, 2, 2, 2);
#endif

CpuBlocksRowsRun *cpu_blocks_rows_for(CpuLevel level, uint32_t bits, bool is_signed) {
#if defined(__x86_64__)
    if (level == CPU_LEVEL_AVX512) return run_avx512(bits, is_signed);
    if (level == CPU_LEVEL_AVX2) return run_avx2(bits, is_signed);
#endif
    (void)level, (void)bits, (void)is_signed;
    return NULL;
}
