#include "serialize/chunk/byte_planes.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "base/processor.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "stored elements are little-endian; this file reads and writes them as the host's"
#endif

/* Elements may have any alignment and type. */
typedef uint16_t __attribute__((aligned(1), may_alias)) Loose16;
typedef uint32_t __attribute__((aligned(1), may_alias)) Loose32;
typedef uint64_t __attribute__((aligned(1), may_alias)) Loose64;

#define INLINE static inline __attribute__((always_inline))

uint32_t byte_planes_count(ChunkFilter filter) {
    static const uint8_t counts[] = {
        [CHUNK_FILTER_BYTES] = 1,
        [CHUNK_FILTER_FLOAT32] = 4,
        [CHUNK_FILTER_BFLOAT16] = 2,
        [CHUNK_FILTER_FLOAT16] = 2,
        [CHUNK_FILTER_WORD16] = 2,
        [CHUNK_FILTER_WORD32] = 4,
        [CHUNK_FILTER_WORD64] = 8,
    };
    return counts[filter];
}

INLINE uint16_t rotate_left(uint16_t bits) { return (uint16_t)(bits << 1 | bits >> 15); }
INLINE uint16_t rotate_right(uint16_t bits) { return (uint16_t)(bits >> 1 | bits << 15); }
INLINE uint32_t rotate_upper_left(uint32_t bits) {
    return (bits & 0xffff) | (bits & 0x7fff0000) << 1 | (bits >> 31) << 16;
}
INLINE uint32_t rotate_upper_right(uint32_t bits) {
    return (bits & 0xffff) | (bits >> 1 & 0x7fff0000) | (bits & 0x10000) << 15;
}

static void split16(const Loose16 *from, size_t count, uint8_t *const planes[], int rotate) {
    uint8_t *restrict plane0 = planes[0], *restrict plane1 = planes[1];
    for (size_t i = 0; i < count; i++) {
        uint16_t bits = rotate ? rotate_left(from[i]) : from[i];
        plane0[i] = (uint8_t)bits;
        plane1[i] = (uint8_t)(bits >> 8);
    }
}

static void merge16(const uint8_t *const planes[], size_t count, Loose16 *restrict to, int rotate) {
    const uint8_t *plane0 = planes[0], *plane1 = planes[1];
    for (size_t i = 0; i < count; i++) {
        uint16_t bits = (uint16_t)(plane0[i] | plane1[i] << 8);
        to[i] = rotate ? rotate_right(bits) : bits;
    }
}

static void split32(const Loose32 *from, size_t count, uint8_t *const planes[], int rotate) {
    uint8_t *restrict plane0 = planes[0], *restrict plane1 = planes[1];
    uint8_t *restrict plane2 = planes[2], *restrict plane3 = planes[3];
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = rotate ? rotate_upper_left(from[i]) : from[i];
        plane0[i] = (uint8_t)bits;
        plane1[i] = (uint8_t)(bits >> 8);
        plane2[i] = (uint8_t)(bits >> 16);
        plane3[i] = (uint8_t)(bits >> 24);
    }
}

static void merge32(const uint8_t *const planes[], size_t count, Loose32 *restrict to, int rotate) {
    const uint8_t *plane0 = planes[0], *plane1 = planes[1];
    const uint8_t *plane2 = planes[2], *plane3 = planes[3];
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = (uint32_t)plane0[i] | (uint32_t)plane1[i] << 8 | (uint32_t)plane2[i] << 16 |
                        (uint32_t)plane3[i] << 24;
        to[i] = rotate ? rotate_upper_right(bits) : bits;
    }
}

static void split64(const Loose64 *from, size_t count, uint8_t *const planes[]) {
    for (size_t i = 0; i < count; i++)
        for (uint32_t p = 0; p < 8; p++) planes[p][i] = (uint8_t)(from[i] >> (8 * p));
}

static void merge64(const uint8_t *const planes[], size_t count, Loose64 *restrict to) {
    const uint8_t *p0 = planes[0], *p1 = planes[1], *p2 = planes[2], *p3 = planes[3];
    const uint8_t *p4 = planes[4], *p5 = planes[5], *p6 = planes[6], *p7 = planes[7];
    for (size_t i = 0; i < count; i++)
        to[i] = (uint64_t)p0[i] | (uint64_t)p1[i] << 8 | (uint64_t)p2[i] << 16 |
                (uint64_t)p3[i] << 24 | (uint64_t)p4[i] << 32 | (uint64_t)p5[i] << 40 |
                (uint64_t)p6[i] << 48 | (uint64_t)p7[i] << 56;
}

#ifdef __x86_64__
/* Blocks of 32 elements with AVX2: 3 to 5 times as fast as the loops above, which neither compiler
 * turns into good vector code at every level of optimisation. */
enum { BLOCK = 32 };
#define AVX2_TARGET __attribute__((target("avx2")))

typedef struct Block32 {
    __m256i rows[4]; /* four times 8 elements, or four times the 32 bytes of a plane */
} Block32;

/* In each 128-bit lane, 4 elements of 4 bytes become 4 planes of 4 bytes. Also the inverse. */
AVX2_TARGET INLINE __m256i transpose_bytes(__m256i row) {
    const __m256i order = _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 0,
        4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm256_shuffle_epi8(row, order);
}

/* In each 128-bit lane, word w of row r becomes word r of row w. */
AVX2_TARGET INLINE Block32 transpose_words(Block32 in) {
    __m256i low01 = _mm256_unpacklo_epi32(in.rows[0], in.rows[1]);
    __m256i high01 = _mm256_unpackhi_epi32(in.rows[0], in.rows[1]);
    __m256i low23 = _mm256_unpacklo_epi32(in.rows[2], in.rows[3]);
    __m256i high23 = _mm256_unpackhi_epi32(in.rows[2], in.rows[3]);
    return (Block32){{_mm256_unpacklo_epi64(low01, low23), _mm256_unpackhi_epi64(low01, low23),
        _mm256_unpacklo_epi64(high01, high23), _mm256_unpackhi_epi64(high01, high23)}};
}

/* 32 elements of 4 bytes to 4 planes of 32 bytes. */
AVX2_TARGET INLINE Block32 block_split(Block32 elements) {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (int i = 0; i < 4; i++) elements.rows[i] = transpose_bytes(elements.rows[i]);
    Block32 planes = transpose_words(elements);
    for (int i = 0; i < 4; i++) planes.rows[i] = _mm256_permutevar8x32_epi32(planes.rows[i], order);
    return planes;
}

AVX2_TARGET INLINE Block32 block_merge(Block32 planes) {
    const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    for (int i = 0; i < 4; i++) planes.rows[i] = _mm256_permutevar8x32_epi32(planes.rows[i], order);
    Block32 elements = transpose_words(planes);
    for (int i = 0; i < 4; i++) elements.rows[i] = transpose_bytes(elements.rows[i]);
    return elements;
}

AVX2_TARGET INLINE __m256i row_rotate_left(__m256i row) {
    __m256i shifted = _mm256_slli_epi32(_mm256_and_si256(row, _mm256_set1_epi32(0x7fff0000)), 1);
    __m256i top = _mm256_slli_epi32(_mm256_srli_epi32(row, 31), 16);
    return _mm256_or_si256(
        _mm256_or_si256(_mm256_and_si256(row, _mm256_set1_epi32(0xffff)), shifted), top);
}

AVX2_TARGET INLINE __m256i row_rotate_right(__m256i row) {
    __m256i shifted = _mm256_and_si256(_mm256_srli_epi32(row, 1), _mm256_set1_epi32(0x7fff0000));
    __m256i top = _mm256_slli_epi32(_mm256_and_si256(row, _mm256_set1_epi32(0x10000)), 15);
    return _mm256_or_si256(
        _mm256_or_si256(_mm256_and_si256(row, _mm256_set1_epi32(0xffff)), shifted), top);
}

AVX2_TARGET INLINE __m256i row_load(const void *from) { return _mm256_loadu_si256(from); }
AVX2_TARGET INLINE void row_store(void *to, __m256i row) { _mm256_storeu_si256(to, row); }

AVX2_TARGET static size_t blocks_split32(
    const uint8_t *from, size_t count, uint8_t *const planes[], int rotate) {
    size_t i = 0;
    for (; i + BLOCK <= count; i += BLOCK) {
        Block32 block;
        for (size_t r = 0; r < 4; r++) {
            block.rows[r] = row_load(from + 4 * i + 32 * r);
            if (rotate) block.rows[r] = row_rotate_left(block.rows[r]);
        }
        block = block_split(block);
        for (size_t p = 0; p < 4; p++) row_store(planes[p] + i, block.rows[p]);
    }
    return i;
}

AVX2_TARGET static size_t blocks_merge32(
    const uint8_t *const planes[], size_t count, uint8_t *to, int rotate) {
    size_t i = 0;
    for (; i + BLOCK <= count; i += BLOCK) {
        Block32 block;
        for (size_t p = 0; p < 4; p++) block.rows[p] = row_load(planes[p] + i);
        block = block_merge(block);
        for (size_t r = 0; r < 4; r++) {
            if (rotate) block.rows[r] = row_rotate_right(block.rows[r]);
            row_store(to + 4 * i + 32 * r, block.rows[r]);
        }
    }
    return i;
}

AVX2_TARGET static size_t blocks_split16(
    const uint8_t *from, size_t count, uint8_t *const planes[], int rotate) {
    const __m256i low_byte = _mm256_set1_epi16(0xff);
    size_t i = 0;
    for (; i + BLOCK <= count; i += BLOCK) {
        __m256i rows[2];
        for (size_t r = 0; r < 2; r++) {
            rows[r] = row_load(from + 2 * i + 32 * r);
            if (rotate)
                rows[r] =
                    _mm256_or_si256(_mm256_slli_epi16(rows[r], 1), _mm256_srli_epi16(rows[r], 15));
        }
        __m256i lower = _mm256_packus_epi16(
            _mm256_and_si256(rows[0], low_byte), _mm256_and_si256(rows[1], low_byte));
        __m256i upper =
            _mm256_packus_epi16(_mm256_srli_epi16(rows[0], 8), _mm256_srli_epi16(rows[1], 8));
        row_store(planes[0] + i, _mm256_permute4x64_epi64(lower, 0xd8));
        row_store(planes[1] + i, _mm256_permute4x64_epi64(upper, 0xd8));
    }
    return i;
}

AVX2_TARGET static size_t blocks_merge16(
    const uint8_t *const planes[], size_t count, uint8_t *to, int rotate) {
    size_t i = 0;
    for (; i + BLOCK <= count; i += BLOCK) {
        __m256i lower = row_load(planes[0] + i), upper = row_load(planes[1] + i);
        __m256i low = _mm256_unpacklo_epi8(lower, upper), high = _mm256_unpackhi_epi8(lower, upper);
        __m256i rows[] = {
            _mm256_permute2x128_si256(low, high, 0x20), _mm256_permute2x128_si256(low, high, 0x31)};
        for (size_t r = 0; r < 2; r++) {
            if (rotate)
                rows[r] =
                    _mm256_or_si256(_mm256_srli_epi16(rows[r], 1), _mm256_slli_epi16(rows[r], 15));
            row_store(to + 2 * i + 32 * r, rows[r]);
        }
    }
    return i;
}

/* The eight planes are the four planes of the lower halves, then the four of the upper halves. */
AVX2_TARGET static size_t blocks_split64(
    const uint8_t *from, size_t count, uint8_t *const planes[]) {
    size_t i = 0;
    for (; i + BLOCK <= count; i += BLOCK) {
        Block32 lower, upper;
        for (size_t r = 0; r < 4; r++) {
            __m256 first = _mm256_castsi256_ps(row_load(from + 8 * i + 64 * r));
            __m256 second = _mm256_castsi256_ps(row_load(from + 8 * i + 64 * r + 32));
            __m256i low = _mm256_castps_si256(_mm256_shuffle_ps(first, second, 0x88));
            __m256i high = _mm256_castps_si256(_mm256_shuffle_ps(first, second, 0xdd));
            lower.rows[r] = _mm256_permute4x64_epi64(low, 0xd8);
            upper.rows[r] = _mm256_permute4x64_epi64(high, 0xd8);
        }
        lower = block_split(lower);
        upper = block_split(upper);
        for (size_t p = 0; p < 4; p++) {
            row_store(planes[p] + i, lower.rows[p]);
            row_store(planes[p + 4] + i, upper.rows[p]);
        }
    }
    return i;
}

AVX2_TARGET static size_t blocks_merge64(const uint8_t *const planes[], size_t count, uint8_t *to) {
    size_t i = 0;
    for (; i + BLOCK <= count; i += BLOCK) {
        Block32 lower, upper;
        for (size_t p = 0; p < 4; p++) {
            lower.rows[p] = row_load(planes[p] + i);
            upper.rows[p] = row_load(planes[p + 4] + i);
        }
        lower = block_merge(lower);
        upper = block_merge(upper);
        for (size_t r = 0; r < 4; r++) {
            __m256i low = _mm256_unpacklo_epi32(lower.rows[r], upper.rows[r]);
            __m256i high = _mm256_unpackhi_epi32(lower.rows[r], upper.rows[r]);
            row_store(to + 8 * i + 64 * r, _mm256_permute2x128_si256(low, high, 0x20));
            row_store(to + 8 * i + 64 * r + 32, _mm256_permute2x128_si256(low, high, 0x31));
        }
    }
    return i;
}

static size_t blocks_split(
    ChunkFilter filter, const void *from, size_t count, uint8_t *const planes[]) {
    uint32_t plane_count = byte_planes_count(filter);
    if (plane_count < 2 || !PROCESSOR_HAS(AVX2)) return 0;
    if (plane_count == 2)
        return blocks_split16(from, count, planes, filter == CHUNK_FILTER_BFLOAT16);
    if (plane_count == 8) return blocks_split64(from, count, planes);
    return blocks_split32(from, count, planes, filter == CHUNK_FILTER_FLOAT32);
}

static size_t blocks_merge(
    ChunkFilter filter, const uint8_t *const planes[], size_t count, void *to) {
    uint32_t plane_count = byte_planes_count(filter);
    if (plane_count < 2 || !PROCESSOR_HAS(AVX2)) return 0;
    if (plane_count == 2) return blocks_merge16(planes, count, to, filter == CHUNK_FILTER_BFLOAT16);
    if (plane_count == 8) return blocks_merge64(planes, count, to);
    return blocks_merge32(planes, count, to, filter == CHUNK_FILTER_FLOAT32);
}
#else
static size_t blocks_split(
    ChunkFilter filter, const void *from, size_t count, uint8_t *const planes[]) {
    (void)filter, (void)from, (void)count, (void)planes;
    return 0;
}
static size_t blocks_merge(
    ChunkFilter filter, const uint8_t *const planes[], size_t count, void *to) {
    (void)filter, (void)planes, (void)count, (void)to;
    return 0;
}
#endif

void byte_planes_split_portable(ChunkFilter filter, const void *elements, size_t count,
    uint8_t *const planes[BYTE_PLANES_MAX]) {
    switch (filter) {
    case CHUNK_FILTER_BYTES:
        break;
    case CHUNK_FILTER_FLOAT32:
        split32(elements, count, planes, 1);
        break;
    case CHUNK_FILTER_BFLOAT16:
        split16(elements, count, planes, 1);
        break;
    case CHUNK_FILTER_FLOAT16:
    case CHUNK_FILTER_WORD16:
        split16(elements, count, planes, 0);
        break;
    case CHUNK_FILTER_WORD32:
        split32(elements, count, planes, 0);
        break;
    case CHUNK_FILTER_WORD64:
        split64(elements, count, planes);
        break;
    }
}

void byte_planes_merge_portable(ChunkFilter filter, const uint8_t *const planes[BYTE_PLANES_MAX],
    size_t count, void *out_elements) {
    switch (filter) {
    case CHUNK_FILTER_BYTES:
        break;
    case CHUNK_FILTER_FLOAT32:
        merge32(planes, count, out_elements, 1);
        break;
    case CHUNK_FILTER_BFLOAT16:
        merge16(planes, count, out_elements, 1);
        break;
    case CHUNK_FILTER_FLOAT16:
    case CHUNK_FILTER_WORD16:
        merge16(planes, count, out_elements, 0);
        break;
    case CHUNK_FILTER_WORD32:
        merge32(planes, count, out_elements, 0);
        break;
    case CHUNK_FILTER_WORD64:
        merge64(planes, count, out_elements);
        break;
    }
}

void byte_planes_split(ChunkFilter filter, const void *elements, size_t count,
    uint8_t *const planes[BYTE_PLANES_MAX]) {
    size_t done = blocks_split(filter, elements, count, planes);
    uint8_t *rest[BYTE_PLANES_MAX] = {0};
    uint32_t plane_count = byte_planes_count(filter);
    for (uint32_t p = 0; p < plane_count; p++) rest[p] = planes[p] + done;
    byte_planes_split_portable(
        filter, (const uint8_t *)elements + done * plane_count, count - done, rest);
}

void byte_planes_merge(ChunkFilter filter, const uint8_t *const planes[BYTE_PLANES_MAX],
    size_t count, void *out_elements) {
    size_t done = blocks_merge(filter, planes, count, out_elements);
    const uint8_t *rest[BYTE_PLANES_MAX] = {0};
    uint32_t plane_count = byte_planes_count(filter);
    for (uint32_t p = 0; p < plane_count; p++) rest[p] = planes[p] + done;
    byte_planes_merge_portable(
        filter, rest, count - done, (uint8_t *)out_elements + done * plane_count);
}
