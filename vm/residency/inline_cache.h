#pragma once
/* The plan that one InvokePacked instruction used last, and the key of its inputs. A cache belongs
 * to one execution at a time, so a hit takes no lock (decoded_code_take_sites). Called by
 * invoke_packed.c on the thread of the execution. */
#include "kernels/tensor/tensor.h"
#include "vm/residency/residency_state.h"

typedef struct InlineCache {
    Plan *plan;    /* retained; NULL: nothing cached */
    uint64_t *key; /* the inputs' specs, and the values of inputs that shape rules read */
    uint32_t key_words, key_capacity;
    bool is_long;             /* estimated from shapes to take 50 ms or more: the kernel should be
                               * abandonable */
    uint64_t output_bytes[4]; /* of the first outputs; UINT64_MAX if the size depends on the data */
} InlineCache;

/* One input of an operator call. */
typedef struct CallInput {
    const Tensor *tensor;       /* NULL: absent, or packed */
    const PackedWeight *weight; /* NULL: not packed */
} CallInput;

/* The input's spec as a plan is asked for; not present if the input is absent. */
TensorSpec call_input_spec(const Residency *residency, const CallInput *input);

void inline_cache_deinit(InlineCache *cache);
/* Whether the cached plan serves these inputs of the operator. */
bool inline_cache_matches(
    const InlineCache *cache, const CallInput *inputs, uint32_t count, const OperatorInfo *info);
/* Gets the plan from the table and keeps it in the cache. Errors: those of shape rule and
 * kernel. */
MUST_CHECK Error *inline_cache_fill(InlineCache *cache, const Residency *residency, uint8_t slot,
    uint32_t primitive, const CallInput *inputs, uint32_t count, uint32_t output_count);
