#pragma once
/* Philox4x32-10: counter-based random numbers (Salmon et al., SC 2011). Draw n of key k is a pure
 * function of both, so that random results do not depend on threads, devices or suspends.
 *
 * One draw is 32 bits; four consecutive draws come from one block. */
#include <stdint.h>

typedef struct PhiloxBlock {
    uint32_t words[4];
} PhiloxBlock;

/* The 128-bit counter's upper half is 0. */
static inline PhiloxBlock philox_block_wide(
    uint64_t key, uint64_t counter_low, uint64_t counter_high) {
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
    return (PhiloxBlock){{c0, c1, c2, c3}};
}

static inline PhiloxBlock philox_block(uint64_t key, uint64_t block) {
    return philox_block_wide(key, block, 0);
}

/* Draw number `draw` of a key. */
static inline uint32_t philox_draw(uint64_t key, uint64_t draw) {
    return philox_block(key, draw / 4).words[draw % 4];
}

/* [0, 1) with 24 bits: exact in float32. */
static inline float philox_unit_f32(uint32_t draw) { return (float)(draw >> 8) * 0x1p-24f; }
