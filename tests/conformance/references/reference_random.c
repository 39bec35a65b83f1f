#include <math.h>
#include <string.h>

#include "tests/conformance/references/reference.h"

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

/* The seed's bits; without one key and counter are the execution's, which are 0 here. */
static uint64_t key_of(double seed) {
    uint64_t key;
    memcpy(&key, &seed, sizeof key);
    return key;
}

static double seed_of(const ReferenceCall *call) {
    if (!attributes_has(call->attributes, "seed")) return 0;
    if (call->operator_info->id == OPERATOR_TRAINING_DROPOUT)
        return (double)attributes_int(call->attributes, "seed");
    return attributes_float(call->attributes, "seed");
}

/* 53 bits of element i's two draws, in [0, 1). */
static double uniform(uint64_t key, int64_t i) {
    uint64_t a = philox(key, (uint64_t)i * 2), b = philox(key, (uint64_t)i * 2 + 1);
    return ldexp((double)((a << 32 | b) >> 11), -53);
}

/* Two draws an element: 53 bits of a uniform number, or a Box-Muller pair of which one is kept. */
void reference_random(ReferenceCall *call) {
    const Attributes *attributes = call->attributes;
    OperatorId id = call->operator_info->id;
    bool normal = id == OPERATOR_RANDOM_NORMAL || id == OPERATOR_RANDOM_NORMAL_LIKE;
    double offset = attributes_float(attributes, normal ? "mean" : "low");
    double scale = normal ? attributes_float(attributes, "scale")
                          : attributes_float(attributes, "high") - offset;
    uint64_t key = key_of(seed_of(call));
    for (int64_t i = 0; i < call->outputs[0].count; i++) {
        uint64_t a = philox(key, (uint64_t)i * 2), b = philox(key, (uint64_t)i * 2 + 1);
        double angle = 2 * acos(-1) * ldexp((double)b, -32);
        double radius = sqrt(-2 * log(ldexp((double)a + 0.5, -32)));
        call->outputs[0].values[i] =
            (normal ? radius * cos(angle) : uniform(key, i)) * scale + offset;
    }
}

void reference_bernoulli(ReferenceCall *call) {
    const ReferenceTensor *p = &call->inputs[0];
    for (int64_t i = 0; i < p->count; i++)
        call->outputs[0].values[i] = uniform(key_of(seed_of(call)), i) < p->values[i];
}

void reference_training_dropout(ReferenceCall *call) {
    const ReferenceTensor *x = &call->inputs[0];
    bool training = call->inputs[2].present && call->inputs[2].values[0] != 0;
    double ratio = call->inputs[1].present ? call->inputs[1].values[0] : 0.5;
    for (int64_t i = 0; i < x->count; i++) {
        bool kept = !training || uniform(key_of(seed_of(call)), i) >= ratio;
        double factor = training ? 1 / (1 - ratio) : 1;
        call->outputs[0].values[i] = kept ? x->values[i] * factor : 0;
        if (call->output_count > 1) call->outputs[1].values[i] = kept;
    }
}

void reference_multinomial(ReferenceCall *call) {
    int64_t classes = call->inputs[0].shape.dims[1], samples = call->outputs[0].shape.dims[1];
    for (int64_t i = 0; i < call->outputs[0].count; i++) {
        const double *logits = call->inputs[0].values + i / samples * classes;
        double sum = 0, below = 0, number = uniform(key_of(seed_of(call)), i);
        int64_t drawn = 0;
        for (int64_t c = 0; c < classes; c++) sum += exp(logits[c]);
        while (drawn + 1 < classes && (below += exp(logits[drawn])) <= number * sum) drawn++;
        call->outputs[0].values[i] = (double)drawn;
    }
}
