/* Rows in bytes times the codes of weights, for AVX512_VNNI and any machine. */
#include "kernels/cpu/quantized/cpu_blocks_dot.h"

#include <math.h>

#include "kernels/cpu/core/cpu_vector.h"
#if defined(__x86_64__)
#include "kernels/cpu/quantized/cpu_blocks_sums.h"
#endif

enum { LANES = CPU_BLOCKS_LANES, VECTOR = CPU_BLOCKS_VECTOR, WORD = 4 };

/* Codes without a sign: those of a signed type are moved by half of their range. */
CPU_INLINE uint32_t flip_of(const CpuBlocks *blocks, uint32_t bits) {
    return blocks->is_signed ? 1u << (bits - 1) : 0;
}

/* What is added to zero points for that. */
CPU_INLINE float half_of(const CpuBlocks *blocks, uint32_t bits) {
    return (float)flip_of(blocks, bits);
}

/* The zero points of a column's blocks. */
CPU_INLINE const float *zeros_of(const CpuBlocksDotRows *run, int64_t column) {
    return run->zeros + (column - run->column) * run->blocks->blocks;
}

/* ---- any machine ---- */

static float portable_word(const CpuBlocks *blocks, const uint8_t *codes, const int8_t *a) {
    const uint32_t bits = blocks->bits, mask = (1u << bits) - 1;
    const uint32_t flip = flip_of(blocks, bits);
    int32_t sum = 0;
    for (uint32_t p = 0; p < 8 / bits; p++)
        for (uint32_t i = 0; i < WORD; i++)
            sum += (int32_t)(((uint32_t)codes[i] >> p * bits & mask) ^ flip) * a[p * VECTOR + i];
    return (float)sum;
}

static float portable_sum(const CpuBlocksDotRows *run, const uint8_t *a, int64_t column) {
    const CpuBlocks *blocks = run->blocks;
    const CpuBlocksDot *dot = run->dot;
    const int64_t stride = blocks->depth * blocks->bits / 8;
    const uint8_t *codes = blocks->codes + column * stride;
    CpuF32x16 sums = {0};
    for (int64_t chunk = 0; chunk < dot->chunks; chunk++, a += dot->chunk_bytes) {
        const int64_t left = stride - chunk * VECTOR,
                      first = chunk * dot->chunk_codes >> dot->block_shift;
        const int8_t *bytes = (const int8_t *)a;
        uint8_t part[VECTOR] = {0};
        float steps[LANES];
        int32_t whole[LANES];
        memcpy(part, codes + chunk * VECTOR, (size_t)(left < VECTOR ? left : VECTOR));
        memcpy(steps, a + 8 / blocks->bits * VECTOR, sizeof steps);
        memcpy(whole, a + (8 / blocks->bits + 1) * VECTOR, sizeof whole);
        for (int i = 0; i < LANES; i++) {
            const int64_t block = first + dot->block_of[i], index = column * blocks->blocks + block;
            if (block >= blocks->blocks) break;
            float word = portable_word(blocks, part + i * WORD, bytes + i * WORD), bytes_sum;
            memcpy(&bytes_sum, whole + i, sizeof bytes_sum);
            if (blocks->has_zeros)
                word -= (zeros_of(run, column)[block] + half_of(blocks, blocks->bits)) * bytes_sum;
            else
                word += (float)whole[i];
            sums[i] = fmaf(word, steps[i] * blocks->scales[index], sums[i]);
        }
    }
    return cpu_f32x16_sum(sums);
}

static void dot_portable(const CpuBlocksDotRows *run) {
    const int64_t row_bytes = run->dot->chunks * run->dot->chunk_bytes;
    for (int64_t row = 0; row < run->rows; row++)
        for (int64_t i = run->column; i < run->column + run->columns; i++)
            run->out[row * run->blocks->columns + i] =
                portable_sum(run, run->a + row * row_bytes, i);
}

#if defined(__x86_64__)
/* ---- AVX512_VNNI ---- */

#define TARGET_DOT                                                                                 \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")))
#define INLINE_DOT TARGET_DOT CPU_INLINE
/* the header of one compiler takes an int, that of the other one an unsigned */
#if defined(__clang__)
#define SHIFT(bits) ((unsigned)(bits))
#else
#define SHIFT(bits) ((int)(bits))
#endif

/* What the columns of a chunk share. */
typedef struct Chunk512 {
    __mmask64 codes;  /* bytes that are there */
    __mmask16 blocks; /* blocks that are there */
    int64_t first;    /* block */
    int64_t at;       /* of the column's bytes */
} Chunk512;

INLINE_DOT Chunk512 chunk_512(
    const CpuBlocks *blocks, const CpuBlocksDot *dot, int64_t stride, int64_t chunk) {
    const int64_t left = stride - chunk * VECTOR;
    const int64_t first = chunk * dot->chunk_codes >> dot->block_shift;
    const int64_t there = blocks->blocks - first;
    return (Chunk512){
        .codes = left >= VECTOR ? ~(__mmask64)0 : ((__mmask64)1 << left) - 1,
        .blocks = (__mmask16)((1u << (there < dot->chunk_blocks ? there : dot->chunk_blocks)) - 1),
        .first = first,
        .at = chunk * VECTOR,
    };
}

/* A column's codes of a chunk, in the order of the rows' vectors. */
INLINE_DOT void codes_512(
    const Chunk512 *chunk, uint32_t bits, __m512i flip, const uint8_t *codes, __m512i *to) {
    const __m512i all = _mm512_maskz_loadu_epi8(chunk->codes, codes + chunk->at);
    if (bits == 8) {
        to[0] = _mm512_xor_si512(all, flip);
        return;
    }
    const __m512i mask = _mm512_set1_epi8(bits == 4 ? 15 : 3);
    CPU_UNROLL for (uint32_t p = 0; p < 8 / bits; p++) {
        const __m512i moved = p == 0 ? all : _mm512_srli_epi16(all, SHIFT(p * bits));
        to[p] = _mm512_ternarylogic_epi32(moved, mask, flip, 0x6a); /* (a & b) ^ c */
    }
}

TARGET_DOT CPU_SPECIALISED void dot_of_512(
    const CpuBlocksDotRows *run, uint32_t bits, bool zeros, int rows, int columns, int64_t column) {
    const CpuBlocks *blocks = run->blocks;
    const CpuBlocksDot *dot = run->dot;
    const int64_t stride = blocks->depth * (int64_t)bits / 8, planes = 8 / (int64_t)bits;
    const int64_t chunk_bytes = (planes + 2) * VECTOR, row_bytes = dot->chunks * chunk_bytes;
    const uint8_t *a = run->a, *first = blocks->codes + column * stride;
    const __m512i block_of = _mm512_loadu_si512(dot->block_of);
    const __m512i flip = _mm512_set1_epi8((char)flip_of(blocks, bits));
    const __m512 half = _mm512_set1_ps(half_of(blocks, bits));
    __m512 sums[CPU_BLOCKS_ROWS][8];
    CPU_UNROLL for (int r = 0; r < rows; r++) CPU_UNROLL for (int c = 0; c < columns; c++)
        sums[r][c] = _mm512_setzero_ps();
    for (int64_t i = 0; i < dot->chunks; i++, a += chunk_bytes) {
        const Chunk512 chunk = chunk_512(blocks, dot, stride, i);
        CPU_UNROLL for (int c = 0; c < columns; c++) {
            const int64_t index = (column + c) * blocks->blocks + chunk.first;
            __m512i codes[4];
            codes_512(&chunk, bits, flip, first + c * stride, codes);
            if (rows == 1) _mm_prefetch(first + (c + columns) * stride + chunk.at, _MM_HINT_T0);
            const __m512 scales = _mm512_permutexvar_ps(
                block_of, _mm512_maskz_loadu_ps(chunk.blocks, blocks->scales + index));
            __m512 zero = half;
            if (zeros)
                zero = _mm512_add_ps(half,
                    _mm512_permutexvar_ps(block_of, _mm512_maskz_loadu_ps(chunk.blocks,
                                                        zeros_of(run, column + c) + chunk.first)));
            CPU_UNROLL for (int r = 0; r < rows; r++) {
                const uint8_t *from = a + r * row_bytes, *end = from + planes * VECTOR;
                __m512i whole = zeros ? _mm512_setzero_si512() : _mm512_loadu_si512(end + VECTOR);
                CPU_UNROLL for (int64_t p = 0; p < planes; p++) whole =
                    _mm512_dpbusd_epi32(whole, codes[p], _mm512_loadu_si512(from + p * VECTOR));
                __m512 real = _mm512_cvtepi32_ps(whole);
                if (zeros)
                    real =
                        _mm512_fnmadd_ps(zero, _mm512_loadu_ps((const void *)(end + VECTOR)), real);
                sums[r][c] = _mm512_fmadd_ps(
                    real, _mm512_mul_ps(scales, _mm512_loadu_ps((const void *)end)), sums[r][c]);
            }
        }
    }
    CPU_UNROLL for (int r = 0; r < rows; r++)
        cpu_blocks_store_avx512(sums[r], columns, run->out + r * blocks->columns + column);
}

/* ---- all rows and columns ---- */

/* COLUMNS at a time, then one by one. */
#define DEFINE_COLUMNS(level, TARGET, BITS, ZEROS, ROWS, COLUMNS)                                  \
    TARGET static void dot_##level##_##BITS##_##ZEROS##_##ROWS(const CpuBlocksDotRows *run) {      \
        int64_t column = run->column;                                                              \
        const int64_t end = column + run->columns;                                                 \
        for (; column + (COLUMNS) <= end; column += (COLUMNS))                                     \
            dot_of_##level(run, BITS, ZEROS, ROWS, COLUMNS, column);                               \
        for (; column < end; column++) dot_of_##level(run, BITS, ZEROS, ROWS, 1, column);          \
    }                                                                                              \
    struct columns_need_semicolon

/* MANY rows at a time, MANY_COLUMNS wide, then two, then the last one. */
#define DEFINE_RUN(level, TARGET, BITS, ZEROS, MANY, MANY_COLUMNS, COLUMNS)                        \
    DEFINE_COLUMNS(level, TARGET, BITS, ZEROS, 1, COLUMNS);                                        \
    DEFINE_COLUMNS(level, TARGET, BITS, ZEROS, 2, COLUMNS);                                        \
    DEFINE_COLUMNS(level, TARGET, BITS, ZEROS, MANY, MANY_COLUMNS);                                \
    static void dot_##level##_##BITS##_##ZEROS(const CpuBlocksDotRows *run) {                      \
        CpuBlocksDotRows rest = *run;                                                              \
        const int64_t row_bytes = run->dot->chunks * run->dot->chunk_bytes;                        \
        for (int64_t row = 0, count; row < run->rows; row += count) {                              \
            const int64_t left = run->rows - row;                                                  \
            count = left >= (MANY) ? (MANY) : left >= 2 ? 2 : 1;                                   \
            rest.a = run->a + row * row_bytes;                                                     \
            rest.out = run->out + row * run->blocks->columns;                                      \
            if (count == (MANY))                                                                   \
                dot_##level##_##BITS##_##ZEROS##_##MANY(&rest);                                    \
            else if (count == 2)                                                                   \
                dot_##level##_##BITS##_##ZEROS##_2(&rest);                                         \
            else                                                                                   \
                dot_##level##_##BITS##_##ZEROS##_1(&rest);                                         \
        }                                                                                          \
    }                                                                                              \
    struct run_needs_semicolon

#define DEFINE_BITS(level, TARGET, BITS, MANY, MANY_COLUMNS, COLUMNS)                              \
    DEFINE_RUN(level, TARGET, BITS, 0, MANY, MANY_COLUMNS, COLUMNS);                               \
    DEFINE_RUN(level, TARGET, BITS, 1, MANY, MANY_COLUMNS, COLUMNS)

#define DEFINE_LEVEL(level, TARGET, MANY, MANY_COLUMNS, COLUMNS)                                   \
    DEFINE_BITS(level, TARGET, 2, MANY, MANY_COLUMNS, COLUMNS);                                    \
    DEFINE_BITS(level, TARGET, 4, MANY, MANY_COLUMNS, COLUMNS);                                    \
    DEFINE_BITS(level, TARGET, 8, MANY, MANY_COLUMNS, COLUMNS);                                    \
    static CpuBlocksDotRun *dot_##level(uint32_t bits, bool zeros) {                               \
        if (bits == 2) return zeros ? dot_##level##_2_1 : dot_##level##_2_0;                       \
        if (bits == 4) return zeros ? dot_##level##_4_1 : dot_##level##_4_0;                       \
        return zeros ? dot_##level##_8_1 : dot_##level##_8_0;                                      \
    }                                                                                              \
    struct level_needs_semicolon

DEFINE_LEVEL(512, TARGET_DOT, 4, 4, 4);
#endif

CpuBlocksDotRun *cpu_blocks_dot_for(const CpuDevice *device, const CpuBlocks *blocks) {
#if defined(__x86_64__)
    if (device->has_vnni) return dot_512(blocks->bits, blocks->has_zeros);
    if (device->level >= CPU_LEVEL_AVX2) return cpu_blocks_dot_avx2(blocks);
#endif
    (void)device, (void)blocks;
    return dot_portable;
}
