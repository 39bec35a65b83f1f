/* Rows in bytes, in the layout of cpu_blocks_dot.h. */
#include "kernels/cpu/core/cpu_vector.h"
#include "kernels/cpu/quantized/cpu_blocks_dot.h"

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

/* The step of `count` elements; bits of floats without a sign have the order of the floats, and NaN
 * is above infinity. */
CPU_INLINE Step step_of(const float *from, int64_t count) {
    CpuI32x16 most = {0};
    for (int64_t k = 0; k < count; k += LANES) {
        const CpuI32x16 bits = (CpuI32x16)cpu_f32x16_load_part(from + k, count - k, 0) & ABSOLUTE;
        const CpuI32x16 above = bits > most;
        most = (above & bits) | (~above & most);
    }
    int32_t largest_bits = 0;
    for (int i = 0; i < LANES; i++)
        if (most[i] > largest_bits) largest_bits = most[i];
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

CPU_INLINE void quantize_16(const float *from, int64_t left, float inverse, int8_t *to) {
    Bytes16 bytes = {0};
    if (inverse > 0) {
        const CpuF32x16 scaled = cpu_f32x16_load_part(from, left, 0) * inverse + ROUNDER;
        bytes = __builtin_convertvector((CpuI32x16)scaled - ROUNDER_BITS, Bytes16);
    }
    memcpy(to, &bytes, sizeof bytes);
}

/* Distributes the bytes of a chunk, which stand in the order of the depth. */
CPU_INLINE void spread(uint32_t bits, const int8_t *from, int8_t *to) {
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
    int8_t *to, uint32_t bits) {
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
            if (k % blocks->block == 0)
                step = step_of(from + k, left < blocks->block ? left : blocks->block);
            quantize_16(from + k, left, step.inverse, bytes + i);
            for (int64_t w = 0; w < words; w++) steps[i * bits / WORD_BITS + w] = step.step;
        }
        spread(bits, bytes, to);
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

CPU_INLINE void quantize_body(
    const CpuBlocks *blocks, const CpuBlocksDot *dot, const float *from, void *to) {
    if (blocks->bits == 2)
        quantize_of(blocks, dot, from, to, 2);
    else if (blocks->bits == 4)
        quantize_of(blocks, dot, from, to, 4);
    else
        quantize_of(blocks, dot, from, to, 8);
}
CPU_VARIANTS(quantize,
    (const CpuBlocks *blocks, const CpuBlocksDot *dot, const float *from, void *to),
    (blocks, dot, from, to));

CpuBlocksQuantize *cpu_blocks_quantize_for(CpuLevel level) { return quantize_for(level); }
