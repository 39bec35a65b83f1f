/* Rows in bytes, in the layout of cpu_blocks_dot.h. */
#include "kernels/cpu/core/cpu_vector.h"
#include "kernels/cpu/quantized/cpu_blocks_dot.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    LANES = CPU_BLOCKS_LANES,
    VECTOR = CPU_BLOCKS_VECTOR,
    WORD_BITS = 32,
    ABSOLUTE = 0x7fffffff,
    INFINITE = 0x7f800000,
};
static const float BYTE_MAX = 127, LARGEST_MIN = 0x1p-100F;
static const float ROUNDER = 12582912.0F; /* 1.5 * 2^23: its low bits become the rounded number */
static const int32_t ROUNDER_BITS = 0x4b400000;

typedef int8_t Bytes16 __attribute__((vector_size(16)));
typedef int8_t Bytes32 __attribute__((vector_size(32)));
typedef int16_t Halves32 __attribute__((vector_size(64), aligned(1), may_alias));
typedef int32_t Words16 __attribute__((vector_size(64), aligned(1), may_alias));

bool cpu_blocks_dot_takes(const CpuBlocks *blocks) {
    return blocks->block >= LANES && (blocks->block & (blocks->block - 1)) == 0 &&
           blocks->depth * blocks->bits % 8 == 0;
}

CpuBlocksDot cpu_blocks_dot_of(const CpuBlocks *blocks) {
    const int64_t codes = LANES * WORD_BITS / blocks->bits;
    CpuBlocksDot dot = {
        .chunks = blocks->depth / codes + (blocks->depth % codes != 0),
        .chunk_bytes = (8 / blocks->bits + 2) * VECTOR,
        .chunk_codes = codes,
        .chunk_blocks = blocks->block < codes ? codes / blocks->block : 1,
        .block_shift = __builtin_ctzll((uint64_t)blocks->block),
    };
    for (int64_t i = 0; i < LANES && blocks->block < codes; i++)
        dot.block_of[i] = (int32_t)(i * WORD_BITS / blocks->bits / blocks->block);
    return dot;
}

typedef struct Step {
    float inverse, step;
} Step;

/* The largest of `count` elements without their signs. These bits have the order of the floats, and
 * NaN is above infinity. */
CPU_INLINE int32_t largest_bits_body(const float *from, int64_t count) {
    CpuI32x16 most = {0};
    for (int64_t k = 0; k < count; k += LANES) {
        const CpuI32x16 bits = (CpuI32x16)cpu_f32x16_load_part(from + k, count - k, 0) & ABSOLUTE;
        const CpuI32x16 above = bits > most;
        most = (above & bits) | (~above & most);
    }
    int32_t largest_bits = 0;
    for (int i = 0; i < LANES; i++)
        if (most[i] > largest_bits) largest_bits = most[i];
    return largest_bits;
}

static Step step_of(int32_t largest_bits) {
    float largest;
    memcpy(&largest, &largest_bits, sizeof largest);
    if (largest_bits >= INFINITE) {
        /* the bits that processors give a NaN of their own: which of two NaNs stays is not known */
        const uint32_t bits = 0xffc00000u;
        Step nan = {0, 0};
        memcpy(&nan.step, &bits, sizeof bits);
        return nan;
    }
    if (largest < LARGEST_MIN) return (Step){0, 0};
    return (Step){BYTE_MAX / largest, largest / BYTE_MAX};
}

/* The first `left` of sixteen elements as bytes, then zeros. */
CPU_INLINE void quantize_16_body(const float *from, int64_t left, float inverse, int8_t *to) {
    const CpuF32x16 scaled = cpu_f32x16_load_part(from, left, 0) * inverse + ROUNDER;
    const Bytes16 bytes = __builtin_convertvector((CpuI32x16)scaled - ROUNDER_BITS, Bytes16);
    memcpy(to, &bytes, sizeof bytes);
}

/* Distributes the bytes of a chunk, which stand in the order of the depth. */
CPU_INLINE void spread_body(uint32_t bits, const int8_t *from, int8_t *to) {
    if (bits == 8) {
        memcpy(to, from, VECTOR);
    } else if (bits == 4) {
        for (int i = 0; i < 2; i++, from += VECTOR) {
            const Halves32 pairs = *(const Halves32 *)(const void *)from;
            const Bytes32 even = __builtin_convertvector(pairs, Bytes32);
            const Bytes32 odd = __builtin_convertvector(pairs >> 8, Bytes32);
            memcpy(to + i * (VECTOR / 2), &even, sizeof even);
            memcpy(to + VECTOR + i * (VECTOR / 2), &odd, sizeof odd);
        }
    } else {
        for (int i = 0; i < 4; i++, from += VECTOR)
            for (int p = 0; p < 4; p++) {
                const Words16 words = *(const Words16 *)(const void *)from;
                const Bytes16 bytes = __builtin_convertvector(words >> (8 * p), Bytes16);
                memcpy(to + p * VECTOR + i * (VECTOR / 4), &bytes, sizeof bytes);
            }
    }
}

/* The parts that compilers make of instructions for single lanes at AVX2: comparisons of vectors
 * that are wider than a register, and narrower elements of a vector. NULL: the bodies above. */
typedef struct Parts {
    int32_t (*largest_bits)(const float *from, int64_t count);
    void (*quantize_16)(const float *from, int64_t left, float inverse, int8_t *to);
    void (*spread)(uint32_t bits, const int8_t *from, int8_t *to);
} Parts;

#if defined(__x86_64__)
enum { EIGHT = 8 };

/* The first lanes of eight, none for a negative count. */
CPU_TARGET_AVX2 static __m256i first_lanes(int64_t count) {
    const int32_t lanes = count < EIGHT ? (int32_t)count : EIGHT;
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(lanes), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

CPU_TARGET_AVX2 static int32_t largest_bits_eights(const float *from, int64_t count) {
    const __m256i absolute = _mm256_set1_epi32(ABSOLUTE);
    __m256i most = _mm256_setzero_si256();
    for (int64_t k = 0; k < count; k += EIGHT) {
        const __m256 x = _mm256_maskload_ps(from + k, first_lanes(count - k));
        most = _mm256_max_epi32(most, _mm256_and_si256(_mm256_castps_si256(x), absolute));
    }
    int32_t lanes[EIGHT], largest = 0;
    _mm256_storeu_si256((__m256i *)(void *)lanes, most);
    for (int i = 0; i < EIGHT; i++) largest = lanes[i] > largest ? lanes[i] : largest;
    return largest;
}

/* Words -127 ... 127. */
CPU_TARGET_AVX2 static __m256i words_of_eight(const float *from, int64_t left, __m256 inverse) {
    const __m256 x =
        left < EIGHT ? _mm256_maskload_ps(from, first_lanes(left)) : _mm256_loadu_ps(from);
    const __m256 scaled = _mm256_add_ps(_mm256_mul_ps(x, inverse), _mm256_set1_ps(ROUNDER));
    return _mm256_sub_epi32(_mm256_castps_si256(scaled), _mm256_set1_epi32(ROUNDER_BITS));
}

CPU_TARGET_AVX2 static void quantize_16_eights(
    const float *from, int64_t left, float inverse, int8_t *to) {
    const __m256 by = _mm256_set1_ps(inverse);
    const __m256i low = words_of_eight(from, left, by);
    const __m256i high =
        left > EIGHT ? words_of_eight(from + EIGHT, left - EIGHT, by) : _mm256_setzero_si256();
    const __m256i halves = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xD8);
    const __m128i bytes =
        _mm_packs_epi16(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
    _mm_storeu_si128((__m128i *)(void *)to, bytes);
}

/* The bytes of 32 / `planes` words, plane by plane: lane 0 has the first bytes of all, then the
 * second ones. */
CPU_TARGET_AVX2 static void spread_vector(uint32_t planes, const int8_t *from, int8_t *to) {
    const __m256i pairs = _mm256_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15, 0,
        2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
    const __m256i words = _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 0,
        4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)from);
    int64_t parts[4];
    const __m256i lanes = planes == 2
                              ? _mm256_permute4x64_epi64(_mm256_shuffle_epi8(x, pairs), 0xD8)
                              : _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(x, words),
                                    _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    _mm256_storeu_si256((__m256i *)(void *)parts, lanes);
    const size_t size = sizeof parts / planes;
    for (uint32_t p = 0; p < planes; p++) memcpy(to + p * VECTOR, (char *)parts + p * size, size);
}

CPU_TARGET_AVX2 static void spread_eights(uint32_t bits, const int8_t *from, int8_t *to) {
    enum { BYTES = 32 };
    if (bits == 8) memcpy(to, from, VECTOR);
    for (int i = 0; bits == 4 && i < 2 * VECTOR; i += BYTES) spread_vector(2, from + i, to + i / 2);
    for (int i = 0; bits == 2 && i < 4 * VECTOR; i += BYTES) spread_vector(4, from + i, to + i / 4);
}
#endif

/* The sum of each word's bytes. */
CPU_INLINE CpuI32x16 sums_of(uint32_t bits, const int8_t *bytes) {
    CpuI32x16 sums = {0};
    for (uint32_t p = 0; p < 8 / bits; p++) {
        const CpuI32x16 words = (CpuI32x16) * (const Words16 *)(const void *)(bytes + p * VECTOR);
        sums += (words << 24 >> 24) + (words << 16 >> 24) + (words << 8 >> 24) + (words >> 24);
    }
    return sums;
}

CPU_INLINE void quantize_of(const CpuBlocks *blocks, const CpuBlocksDot *dot, const float *from,
    int8_t *to, uint32_t bits, const Parts *parts) {
    const int64_t depth = blocks->depth, words = LANES * (int64_t)bits / WORD_BITS;
    Step step = {0, 0};
    KernelStopMeter meter = {0};
    for (int64_t chunk = 0; chunk < dot->chunks; chunk++, to += dot->chunk_bytes) {
        int8_t bytes[CPU_BLOCKS_CHUNK_CODES_MAX] = {0};
        float steps[LANES] = {0};
        if (kernel_stop_ends_after(&meter, (uint64_t)dot->chunk_codes)) return;
        for (int64_t i = 0; i < dot->chunk_codes; i += LANES) {
            const int64_t k = chunk * dot->chunk_codes + i, left = depth - k;
            if (left <= 0) break;
            if (k % blocks->block == 0) {
                const int64_t count = left < blocks->block ? left : blocks->block;
                step = step_of(parts ? parts->largest_bits(from + k, count)
                                     : largest_bits_body(from + k, count));
            }
            if (step.inverse > 0 && parts)
                parts->quantize_16(from + k, left, step.inverse, bytes + i);
            else if (step.inverse > 0)
                quantize_16_body(from + k, left, step.inverse, bytes + i);
            for (int64_t w = 0; w < words; w++) steps[i * bits / WORD_BITS + w] = step.step;
        }
        if (parts)
            parts->spread(bits, bytes, to);
        else
            spread_body(bits, bytes, to);
        const CpuI32x16 sums = sums_of(bits, to);
        int8_t *end = to + 8 / bits * VECTOR;
        memcpy(end, steps, sizeof steps);
        const CpuF32x16 floats = __builtin_convertvector(sums, CpuF32x16);
        const CpuI32x16 whole =
            blocks->is_signed ? sums * cpu_i32x16_all(-(1 << (bits - 1))) : (CpuI32x16){0};
        if (blocks->has_zeros)
            memcpy(end + VECTOR, &floats, VECTOR);
        else
            memcpy(end + VECTOR, &whole, VECTOR);
    }
}

CPU_INLINE void quantize_by(const CpuBlocks *blocks, const CpuBlocksDot *dot, const float *from,
    void *to, const Parts *parts) {
    if (blocks->bits == 2)
        quantize_of(blocks, dot, from, to, 2, parts);
    else if (blocks->bits == 4)
        quantize_of(blocks, dot, from, to, 4, parts);
    else
        quantize_of(blocks, dot, from, to, 8, parts);
}

CPU_INLINE void quantize_body(
    const CpuBlocks *blocks, const CpuBlocksDot *dot, const float *from, void *to) {
    quantize_by(blocks, dot, from, to, NULL);
}
CPU_VARIANTS(quantize,
    (const CpuBlocks *blocks, const CpuBlocksDot *dot, const float *from, void *to),
    (blocks, dot, from, to));

#if defined(__x86_64__)
CPU_TARGET_AVX2 static void quantize_eights(
    const CpuBlocks *blocks, const CpuBlocksDot *dot, const float *from, void *to) {
    static const Parts eights = {largest_bits_eights, quantize_16_eights, spread_eights};
    quantize_by(blocks, dot, from, to, &eights);
}
#endif

CpuBlocksQuantize *cpu_blocks_quantize_for(CpuLevel level) {
#if defined(__x86_64__)
    if (level == CPU_LEVEL_AVX2) return quantize_eights;
#endif
    return quantize_for(level);
}
