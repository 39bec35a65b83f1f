#pragma once
/* The plan that one InvokePacked instruction used last, and for which inputs: one execution's at a
 * time, so that a hit takes no lock (decoded_code_take_sites). */
#include "kernels/tensor/tensor.h"
#include "vm/residency/residency.h"

typedef struct InlineCache {
    Plan *plan;    /* retained; NULL: nothing cached */
    uint64_t *key; /* inputs' specs and, of those that shape rules read, values */
    uint32_t key_words, key_capacity;
    bool is_long; /* some 50 ms or more, as far as shapes tell: it shall be abandonable */
    uint64_t output_bytes[4]; /* of the first outputs; UINT64_MAX where only the data decides */
} InlineCache;

/* What an operator is called with. */
typedef struct CallInput {
    const Tensor *tensor;       /* NULL: absent, or packed */
    const PackedWeight *weight; /* NULL: not packed */
} CallInput;

/* As a plan is asked for; not present where the input is absent. */
TensorSpec call_input_spec(const Residency *residency, const CallInput *input);

void inline_cache_deinit(InlineCache *cache);
/* True when the cached plan serves these inputs of the operator. */
bool inline_cache_matches(
    const InlineCache *cache, const CallInput *inputs, uint32_t count, const OperatorInfo *info);
/* Gets the plan from the table and remembers it. Errors: whatever shape rule or kernel say. */
MUST_CHECK Error *inline_cache_fill(InlineCache *cache, const Residency *residency, uint8_t slot,
    uint32_t primitive, const CallInput *inputs, uint32_t count, uint32_t output_count);
