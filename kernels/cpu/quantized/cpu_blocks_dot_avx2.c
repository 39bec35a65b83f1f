/* Rows in bytes times the codes of weights, for AVX2. A chunk has two halves of eight words, so a
 * sum has two vectors of eight lanes. */
#include "kernels/cpu/core/cpu_vector.h"
#include "kernels/cpu/quantized/cpu_blocks_dot.h"

#if defined(__x86_64__)
#include "kernels/cpu/quantized/cpu_blocks_sums.h"

enum {
    LANES = CPU_BLOCKS_LANES,
    HALF = LANES / 2,
    VECTOR = CPU_BLOCKS_VECTOR,
    ROWS = CPU_BLOCKS_DOT_ROWS,
    QUAD = 4,           /* columns at a time; blocks that one instruction chooses among */
    PLANES_MAX = 4,     /* vectors of the row's bytes in a chunk */
    AHEAD_BYTES = 4096, /* codes are fetched so far ahead, or farther */
};

/* How codes are multiplied with bytes. */
typedef enum Form { FORM_2, FORM_4, FORM_8_UNSIGNED, FORM_8_SIGNED } Form;

/* What does not change within a run. */
typedef struct Fixed {
    const CpuBlocksDotRows *run;
    int64_t stride;     /* bytes of a column's codes */
    int64_t ahead;      /* bytes from a code to the one that is fetched */
    int64_t last_block; /* of all columns' blocks the last one that vectors may begin at */
    __m256i flips;
    __m256 half;         /* what is added to zero points */
    __m256i block_of[2]; /* of the words of each half, counted from the half's first one */
    int64_t base[2];     /* the first block of each half, counted from the chunk's */
} Fixed;

/* Where the values of a column's chunk stand. Vectors of blocks may be read from there. */
typedef struct Source {
    const uint8_t *codes;
    const float *scales, *zeros;
} Source;

/* The values of a chunk that ends with its column, with room for vectors. */
typedef struct Ending {
    uint8_t codes[VECTOR];
    float scales[2 * LANES], zeros[2 * LANES];
} Ending;

CPU_INLINE int planes_of(Form form) { return form == FORM_2 ? 4 : form == FORM_4 ? 2 : 1; }
CPU_INLINE int64_t bits_of(Form form) { return 8 / planes_of(form); }
CPU_INLINE int64_t chunk_codes_of(Form form) { return VECTOR * planes_of(form); }

CPU_TARGET_AVX2 CPU_INLINE __m256i load(const void *from) {
    return _mm256_loadu_si256((const __m256i *)from);
}
CPU_TARGET_AVX2 CPU_INLINE __m256i words_of_pairs(__m256i pairs) {
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

/* A half's codes in the order of the rows' vectors. Codes of eight bits without a sign are their
 * low seven bits and their highest one. */
CPU_TARGET_AVX2 CPU_INLINE void take_codes(
    Form form, const Fixed *fixed, const uint8_t *from, __m256i *to) {
    const __m256i top = _mm256_set1_epi8(-128);
    const __m256i mask = _mm256_set1_epi8(form == FORM_4 ? 15 : 3);
    to[0] = _mm256_xor_si256(load(from), fixed->flips);
    if (form == FORM_8_SIGNED) return;
    if (form == FORM_8_UNSIGNED) {
        to[1] = _mm256_and_si256(top, to[0]);
        to[0] = _mm256_andnot_si256(top, to[0]);
        return;
    }
    CPU_UNROLL for (int p = planes_of(form) - 1; p >= 0; p--) to[p] =
        _mm256_and_si256(_mm256_srli_epi16(to[0], p * (int)bits_of(form)), mask);
}

/* Sums of the products of a half's words. No sum of two products saturates: bytes of rows are from
 * -127 to 127, and the other factor is at most 128. */
CPU_TARGET_AVX2 CPU_INLINE __m256i multiply(Form form, const __m256i *codes, const uint8_t *a) {
    __m256i pairs = _mm256_setzero_si256();
    if (form == FORM_8_SIGNED)
        return words_of_pairs(
            _mm256_maddubs_epi16(_mm256_abs_epi8(codes[0]), _mm256_sign_epi8(load(a), codes[0])));
    if (form == FORM_8_UNSIGNED)
        return _mm256_add_epi32(words_of_pairs(_mm256_maddubs_epi16(codes[0], load(a))),
            words_of_pairs(_mm256_maddubs_epi16(codes[1], load(a))));
    CPU_UNROLL for (int p = 0; p < planes_of(form); p++) {
        const __m256i products = _mm256_maddubs_epi16(codes[p], load(a + p * VECTOR));
        pairs = p == 0 ? products : _mm256_add_epi16(pairs, products);
    }
    return words_of_pairs(pairs);
}

/* The values of the blocks of a half's words. A chunk of two bits has up to eight blocks in a half.
 */
CPU_TARGET_AVX2 CPU_INLINE __m256 spread(
    Form form, const Fixed *fixed, int half, const float *from) {
    if (form == FORM_2)
        return _mm256_permutevar8x32_ps(
            _mm256_loadu_ps(from + fixed->base[half]), fixed->block_of[half]);
    return _mm256_permutevar_ps(
        _mm256_broadcast_ps((const __m128 *)(const void *)(from + fixed->base[half])),
        fixed->block_of[half]);
}

/* Adds the products of one half of a chunk to the lanes of some rows. */
CPU_TARGET_AVX2 CPU_INLINE void add_half(Form form, bool zeros, int rows, const Fixed *fixed,
    int half, const Source *from, const uint8_t *a, int64_t row_bytes, __m256 *sums, int step) {
    const int64_t planes = planes_of(form);
    __m256i codes[PLANES_MAX];
    const __m256 scales = spread(form, fixed, half, from->scales);
    const __m256 zero = zeros ? _mm256_add_ps(spread(form, fixed, half, from->zeros), fixed->half)
                              : _mm256_setzero_ps();
    take_codes(form, fixed, from->codes + half * (VECTOR / 2), codes);
    CPU_UNROLL for (int r = 0; r < rows; r++) {
        const uint8_t *row = a + r * row_bytes + half * (VECTOR / 2);
        const uint8_t *end = row + planes * VECTOR;
        __m256i whole = multiply(form, codes, row);
        if (!zeros && form != FORM_8_SIGNED) whole = _mm256_add_epi32(whole, load(end + VECTOR));
        __m256 real = _mm256_cvtepi32_ps(whole);
        if (zeros)
            real = _mm256_fnmadd_ps(
                zero, _mm256_loadu_ps((const float *)(const void *)(end + VECTOR)), real);
        sums[r * step] = _mm256_fmadd_ps(real,
            _mm256_mul_ps(scales, _mm256_loadu_ps((const float *)(const void *)end)),
            sums[r * step]);
    }
}

/* Copies what there is of a chunk. */
static __attribute__((noinline)) Source copy_ending(
    const Fixed *fixed, const Source *from, int64_t bytes, int64_t blocks, Ending *to) {
    memset(to, 0, sizeof *to);
    memcpy(to->codes, from->codes, (size_t)(bytes < VECTOR ? bytes : VECTOR));
    blocks = blocks < fixed->run->dot->chunk_blocks ? blocks : fixed->run->dot->chunk_blocks;
    memcpy(to->scales, from->scales, (size_t)blocks * sizeof *to->scales);
    if (from->zeros) memcpy(to->zeros, from->zeros, (size_t)blocks * sizeof *to->zeros);
    return (Source){to->codes, to->scales, to->zeros};
}

/* How many chunks are whole, with vectors of blocks that end within the scales. */
CPU_INLINE int64_t whole_chunks(Form form, const Fixed *fixed, int64_t last_column) {
    const CpuBlocksDotRows *run = fixed->run;
    const int64_t whole = fixed->stride / VECTOR, codes = chunk_codes_of(form);
    const int64_t all = run->blocks->blocks;
    int64_t blocks = fixed->last_block - last_column * all + 1;
    blocks = blocks < 0 ? 0 : blocks < all ? blocks : all;
    const int64_t chunks = ((blocks << run->dot->block_shift) + codes - 1) / codes;
    return whole < chunks ? whole : chunks;
}

/* Some rows and columns, and halves of chunks from `first` on. */
typedef struct Tile {
    int rows, columns, first, halves;
    Source columns_begin;
    const uint8_t *a; /* of the first row */
    int64_t row_bytes;
} Tile;

/* Adds the products of a chunk. ends: it is copied first. sums: [half][row][column]. */
CPU_TARGET_AVX2 CPU_INLINE void add_chunk(Form form, bool zeros, const Fixed *fixed,
    const Tile *tile, int64_t chunk, bool ends, __m256 *sums) {
    const int64_t blocks = fixed->run->blocks->blocks, codes = chunk * VECTOR;
    const int64_t block = chunk * chunk_codes_of(form) >> fixed->run->dot->block_shift;
    const uint8_t *a = tile->a + chunk * (planes_of(form) + 2) * VECTOR;
    CPU_UNROLL for (int c = 0; c < tile->columns; c++) {
        Ending ending;
        const int64_t at = c * blocks + block;
        Source from = {tile->columns_begin.codes + c * fixed->stride + codes,
            tile->columns_begin.scales + at, zeros ? tile->columns_begin.zeros + at : NULL};
        if (ends)
            from = copy_ending(fixed, &from, fixed->stride - codes, blocks - block, &ending);
        else if (tile->rows == 1)
            _mm_prefetch((const char *)from.codes + fixed->ahead, _MM_HINT_T0);
        CPU_UNROLL for (int h = 0; h < tile->halves; h++)
            add_half(form, zeros, tile->rows, fixed, tile->first + h, &from, a, tile->row_bytes,
                sums + h * tile->rows * tile->columns + c, tile->columns);
    }
}

CPU_TARGET_AVX2 CPU_INLINE void add_chunks(
    Form form, bool zeros, const Fixed *fixed, const Tile *tile, int64_t column, __m256 *sums) {
    const int64_t whole = whole_chunks(form, fixed, column + tile->columns - 1);
    CPU_UNROLL for (int i = 0; i < tile->halves * tile->rows * tile->columns; i++) sums[i] =
        _mm256_setzero_ps();
    for (int64_t i = 0; i < whole; i++) add_chunk(form, zeros, fixed, tile, i, false, sums);
    for (int64_t i = whole; i < fixed->run->dot->chunks; i++)
        add_chunk(form, zeros, fixed, tile, i, true, sums);
}

/* The halves of many rows one after the other, so that their sums stay in registers. */
CPU_TARGET_AVX2 CPU_SPECIALISED void multiply_columns(
    Form form, bool zeros, int rows, int columns, const Fixed *fixed, int64_t column) {
    __m256 sums[2 * ROWS];
    float made[ROWS];
    const int count = rows * columns;
    const CpuBlocksDotRows *run = fixed->run;
    Tile tile = {.rows = rows,
        .columns = columns,
        .halves = count < ROWS ? 2 : 1,
        .columns_begin = {run->blocks->codes + column * fixed->stride,
            run->blocks->scales + column * run->blocks->blocks,
            zeros ? run->zeros + (column - run->column) * run->blocks->blocks : NULL},
        .a = run->a,
        .row_bytes = run->dot->chunks * (planes_of(form) + 2) * VECTOR};
    add_chunks(form, zeros, fixed, &tile, column, sums);
    tile.first = tile.halves;
    if (tile.first < 2) add_chunks(form, zeros, fixed, &tile, column, sums + count);
    if (count % QUAD == 0) {
        CPU_UNROLL for (int i = 0; i < count; i += QUAD)
            _mm_storeu_ps(made + i, cpu_blocks_sums_avx2(sums + i, sums + count + i));
    } else {
        CPU_UNROLL for (int i = 0; i < count; i++) made[i] =
            cpu_blocks_sum_avx2(sums[i], sums[count + i]);
    }
    CPU_UNROLL for (int r = 0; r < rows; r++) memcpy(run->out + r * run->blocks->columns + column,
        made + r * columns, (size_t)columns * sizeof *made);
}

/* `most` columns at a time, then one by one. */
CPU_TARGET_AVX2 CPU_INLINE void multiply_rows(
    Form form, bool zeros, int rows, int most, const Fixed *fixed) {
    int64_t column = fixed->run->column;
    const int64_t end = column + fixed->run->columns;
    for (; column + most <= end; column += most)
        multiply_columns(form, zeros, rows, most, fixed, column);
    for (; column < end; column++) multiply_columns(form, zeros, rows, 1, fixed, column);
}

CPU_TARGET_AVX2 static Fixed fix(Form form, const CpuBlocksDotRows *run) {
    const CpuBlocks *blocks = run->blocks;
    const uint8_t half = (uint8_t)(1u << (blocks->bits - 1));
    const bool flips = form == FORM_8_SIGNED ? !blocks->is_signed : blocks->is_signed;
    const int64_t stride = blocks->depth * bits_of(form) / 8;
    Fixed made = {.run = run, .stride = stride, .ahead = QUAD * stride};
    while (made.ahead < AHEAD_BYTES) made.ahead += QUAD * stride;
    const uint8_t all = form == FORM_2 ? half * 0x55 : form == FORM_4 ? half * 0x11 : half;
    made.flips = flips ? _mm256_set1_epi8((char)all) : _mm256_setzero_si256();
    made.half = _mm256_set1_ps(!flips ? 0 : form == FORM_8_SIGNED ? -(float)half : (float)half);
    for (int h = 0; h < 2; h++) {
        made.base[h] = run->dot->block_of[h * HALF];
        made.block_of[h] = _mm256_sub_epi32(
            load(run->dot->block_of + h * HALF), _mm256_set1_epi32(run->dot->block_of[h * HALF]));
    }
    made.last_block = blocks->columns * blocks->blocks - made.base[1] - HALF;
    return made;
}

#define DEFINE_ROWS(FORM, ZEROS, NUMBER, COLUMNS)                                                  \
    CPU_TARGET_AVX2 static                                                                         \
        __attribute__((noinline)) void rows_##FORM##_##ZEROS##_##NUMBER(const Fixed *fixed) {      \
        multiply_rows(FORM, ZEROS, NUMBER, COLUMNS, fixed);                                        \
    }                                                                                              \
    struct rows_need_semicolon

/* ROWS rows at a time, then two, then the last one. */
#define DEFINE_RUN(FORM, ZEROS)                                                                    \
    DEFINE_ROWS(FORM, ZEROS, 1, QUAD);                                                             \
    DEFINE_ROWS(FORM, ZEROS, 2, 2);                                                                \
    DEFINE_ROWS(FORM, ZEROS, 8, 1);                                                                \
    CPU_TARGET_AVX2 static void run_##FORM##_##ZEROS(const CpuBlocksDotRows *run) {                \
        CpuBlocksDotRows rest = *run;                                                              \
        const Fixed fixed = fix(FORM, &rest);                                                      \
        const int64_t row_bytes = run->dot->chunks * run->dot->chunk_bytes;                        \
        for (int64_t left = run->rows, count; left > 0; left -= count) {                           \
            count = left >= ROWS ? ROWS : left >= 2 ? 2 : 1;                                       \
            if (count == ROWS)                                                                     \
                rows_##FORM##_##ZEROS##_8(&fixed);                                                 \
            else if (count == 2)                                                                   \
                rows_##FORM##_##ZEROS##_2(&fixed);                                                 \
            else                                                                                   \
                rows_##FORM##_##ZEROS##_1(&fixed);                                                 \
            rest.a += count * row_bytes;                                                           \
            rest.out += count * run->blocks->columns;                                              \
        }                                                                                          \
    }                                                                                              \
    struct run_needs_semicolon

DEFINE_RUN(FORM_2, 0);
DEFINE_RUN(FORM_2, 1);
DEFINE_RUN(FORM_4, 0);
DEFINE_RUN(FORM_4, 1);
DEFINE_RUN(FORM_8_UNSIGNED, 0);
DEFINE_RUN(FORM_8_SIGNED, 0);
DEFINE_RUN(FORM_8_SIGNED, 1);

CpuBlocksDotRun *cpu_blocks_dot_avx2(const CpuBlocks *blocks) {
    const bool zeros = blocks->has_zeros;
    if (blocks->bits == 2) return zeros ? run_FORM_2_1 : run_FORM_2_0;
    if (blocks->bits == 4) return zeros ? run_FORM_4_1 : run_FORM_4_0;
    if (zeros) return run_FORM_8_SIGNED_1;
    return blocks->is_signed ? run_FORM_8_SIGNED_0 : run_FORM_8_UNSIGNED_0;
}
#endif
