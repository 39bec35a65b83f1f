#include <math.h>
#include <string.h>

#include "tests/conformance/reference.h"

/* Philox4x32-10 as its authors write it (Salmon et al., SC 2011): word n % 4 of block n / 4. */
static uint32_t philox(uint64_t key, uint64_t draw) {
    uint32_t counter[4] = {(uint32_t)(draw / 4), (uint32_t)(draw / 4 >> 32), 0, 0};
    uint32_t round_key[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
    for (int round = 0; round < 10; round++) {
        uint64_t a = UINT64_C(0xD2511F53) * counter[0], b = UINT64_C(0xCD9E8D57) * counter[2];
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ counter[1] ^ round_key[0], (uint32_t)b,
            (uint32_t)(a >> 32) ^ counter[3] ^ round_key[1], (uint32_t)a};
        memcpy(counter, next, sizeof counter);
        round_key[0] += 0x9E3779B9;
        round_key[1] += 0xBB67AE85;
    }
    return counter[draw % 4];
}

/* Two draws an element: 53 bits of a uniform number, or a Box-Muller pair of which one is kept.
 * Without a seed key and counter are the execution's, which are 0 here. */
void reference_random(ReferenceCall *call) {
    const Attributes *attributes = call->attributes;
    bool normal = call->operator_info->id == OPERATOR_RANDOM_NORMAL;
    double offset = attributes_float(attributes, normal ? "mean" : "low");
    double scale = normal ? attributes_float(attributes, "scale")
                          : attributes_float(attributes, "high") - offset;
    uint64_t key = 0;
    double seed = attributes_has(attributes, "seed") ? attributes_float(attributes, "seed") : 0;
    memcpy(&key, &seed, sizeof key);
    for (int64_t i = 0; i < call->outputs[0].count; i++) {
        uint64_t a = philox(key, (uint64_t)i * 2), b = philox(key, (uint64_t)i * 2 + 1);
        double unit = ldexp((double)((a << 32 | b) >> 11), -53);
        double angle = 2 * acos(-1) * ldexp((double)b, -32);
        double radius = sqrt(-2 * log(ldexp((double)a + 0.5, -32)));
        call->outputs[0].values[i] = (normal ? radius * cos(angle) : unit) * scale + offset;
    }
}
