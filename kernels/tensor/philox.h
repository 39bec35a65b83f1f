#pragma once
/* Philox4x32-10: counter-based random numbers (Salmon et al., SC 2011). Draw n of key k is a pure
 * function of both, so random results do not depend on threads, devices or suspends. Called by the
 * random kernels of cpu and cuda, and embedded in CUDA kernels.
 *
 * One draw is 32 bits; four consecutive draws come from one block. */
#include "kernels/scalar/scalar_exponential.h"
#include "kernels/scalar/scalar_trigonometric.h"

typedef struct PhiloxBlock {
    uint32_t words[4];
} PhiloxBlock;

/* The 128-bit counter's upper half is 0. */
SCALAR PhiloxBlock philox_block_wide(uint64_t key, uint64_t counter_low, uint64_t counter_high) {
    uint32_t c0 = (uint32_t)counter_low, c1 = (uint32_t)(counter_low >> 32);
    uint32_t c2 = (uint32_t)counter_high, c3 = (uint32_t)(counter_high >> 32);
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t product0 = (uint64_t)0xD2511F53u * c0;
        uint64_t product1 = (uint64_t)0xCD9E8D57u * c2;
        uint32_t n0 = (uint32_t)(product1 >> 32) ^ c1 ^ k0;
        uint32_t n2 = (uint32_t)(product0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)product1;
        c3 = (uint32_t)product0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    PhiloxBlock block = {{c0, c1, c2, c3}};
    return block;
}

SCALAR PhiloxBlock philox_block(uint64_t key, uint64_t block) {
    return philox_block_wide(key, block, 0);
}

/* Draw number `draw` of a key. */
SCALAR uint32_t philox_draw(uint64_t key, uint64_t draw) {
    return philox_block(key, draw / 4).words[draw % 4];
}

/* [0, 1) with 24 bits: exact in float32. */
SCALAR float philox_unit_f32(uint32_t draw) { return (float)(draw >> 8) * 0x1p-24f; }

/* Draws for one element of RandomUniform and RandomNormal: 53 bits of a uniform number, or the two
 * uniform numbers of a Box-Muller pair, of which one normal number is kept. */
enum { PHILOX_NUMBER_DRAWS = 2 };

/* Element `element` of a tensor whose draws start at `counter`: uniform in [0, 1), or normal. */
SCALAR double philox_number(uint64_t key, uint64_t counter, uint64_t element, int normal) {
    uint64_t at = counter + element * PHILOX_NUMBER_DRAWS;
    uint64_t a = philox_draw(key, at), b = philox_draw(key, at + 1);
    if (!normal) return (double)((a << 32 | b) >> 11) * 0x1p-53;
    double radius = __builtin_sqrt(-2.0 * scalar_log_f64(((double)a + 0.5) * 0x1p-32));
    return radius * scalar_cos_f64((double)b * (0x1p-32 * 6.283185307179586));
}
