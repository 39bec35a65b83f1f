#include "vm/residency/inline_cache.h"

#include <string.h>

#include "base/allocator.h"
#include "kernels/shape_rules/operator_cost.h"

/* Key, per input: one word (element type, rank, layout, presence), its dimensions, and for value
 * inputs their bytes padded with zeros to words. */
enum { KEY_WORDS_MAX = 1 << 16 };
static const double LONG_OPERATIONS = 1e8;

void inline_cache_deinit(InlineCache *cache) {
    plan_release(cache->plan);
    memory_free(cache->key);
    *cache = (InlineCache){0};
}

static uint64_t spec_word(DType dtype, uint32_t rank, uint32_t layout) {
    return UINT64_C(1) << 63 | (uint64_t)layout << 16 | (uint64_t)rank << 8 | (uint64_t)dtype;
}

/* Compares from *inout_key on and moves past the equal words. */
static bool input_matches(
    const CallInput *input, bool by_value, const uint64_t **inout_key, const uint64_t *end) {
    const uint64_t *key = *inout_key;
    const Tensor *tensor = input->tensor;
    if (!tensor) {
        /* absent: 0; packed: the address of the packed weight */
        *inout_key = key + 1;
        return key < end && *key == (uint64_t)(uintptr_t)input->weight;
    }
    uint32_t rank = tensor->shape.rank;
    if (end - key < 1 + (ptrdiff_t)rank || *key++ != spec_word(tensor->dtype, rank, 0))
        return false;
    for (uint32_t i = 0; i < rank; i++)
        if (*key++ != (uint64_t)tensor->shape.dims[i]) return false;
    if (by_value) {
        uint64_t bytes = tensor_bytes(tensor), words = (bytes + 7) / 8;
        if ((uint64_t)(end - key) < words || memcmp(key, tensor_data(tensor), bytes) != 0)
            return false;
        key += words;
    }
    *inout_key = key;
    return true;
}

bool inline_cache_matches(
    const InlineCache *cache, const CallInput *inputs, uint32_t count, const OperatorInfo *info) {
    if (!cache->plan) return false;
    const uint64_t *key = cache->key, *end = cache->key + cache->key_words;
    for (uint32_t i = 0; i < count; i++)
        if (!input_matches(&inputs[i], operator_reads_value(info, i), &key, end)) return false;
    return key == end;
}

static Error *reserve_key(InlineCache *cache, uint64_t words) {
    /* even an operator without inputs has a key, so that its address is not NULL */
    if (cache->key && words <= cache->key_capacity) return NULL;
    void *key = cache->key;
    TRY(memory_resize(&key, words, sizeof(uint64_t)));
    cache->key = key;
    cache->key_capacity = (uint32_t)words;
    return NULL;
}

static uint64_t key_size(const CallInput *inputs, uint32_t count, const OperatorInfo *info) {
    uint64_t words = 0;
    for (uint32_t i = 0; i < count && words <= KEY_WORDS_MAX; i++) {
        words++;
        if (!inputs[i].tensor) continue;
        words += inputs[i].tensor->shape.rank;
        if (operator_reads_value(info, i)) words += (tensor_bytes(inputs[i].tensor) + 7) / 8;
    }
    return words;
}

static void write_key(
    InlineCache *cache, const CallInput *inputs, uint32_t count, const OperatorInfo *info) {
    uint64_t *key = cache->key;
    for (uint32_t i = 0; i < count; i++) {
        const Tensor *tensor = inputs[i].tensor;
        if (!tensor) {
            *key++ = (uint64_t)(uintptr_t)inputs[i].weight;
            continue;
        }
        *key++ = spec_word(tensor->dtype, tensor->shape.rank, 0);
        for (uint32_t axis = 0; axis < tensor->shape.rank; axis++)
            *key++ = (uint64_t)tensor->shape.dims[axis];
        if (!operator_reads_value(info, i)) continue;
        uint64_t bytes = tensor_bytes(tensor);
        if (bytes % 8) key[bytes / 8] = 0;
        if (bytes) memcpy(key, tensor_data(tensor), bytes);
        key += (bytes + 7) / 8;
    }
    cache->key_words = (uint32_t)(key - cache->key);
}

TensorSpec call_input_spec(const Residency *residency, const CallInput *input) {
    TensorSpec spec = {0};
    if (input->tensor) return tensor_spec(input->tensor);
    if (!input->weight) return spec;
    const Constant *constant = &residency->executable->constants[input->weight->constant];
    spec = tensor_spec(constant->value.tensor);
    spec.layout = input->weight->layout;
    return spec;
}

static void describe_inputs(const Residency *residency, const CallInput *inputs, uint32_t count,
    const OperatorInfo *info, TensorSpec *out_specs, const void **out_values) {
    static const uint64_t nothing; /* bytes of a zero-size value: present, though without address */
    for (uint32_t i = 0; i < count; i++) {
        out_specs[i] = call_input_spec(residency, &inputs[i]);
        out_values[i] = NULL;
        if (!inputs[i].tensor || !operator_reads_value(info, i)) continue;
        out_values[i] = tensor_data(inputs[i].tensor);
        if (!out_values[i]) out_values[i] = &nothing;
    }
}

static Error *get_plan(const Residency *residency, uint8_t slot, uint32_t primitive,
    const CallInput *inputs, uint32_t count, uint32_t output_count, Plan **out) {
    TensorSpec specs[PLAN_INPUTS_MAX];
    const void *values[PLAN_INPUTS_MAX];
    const Primitive *called = &residency->executable->primitives[primitive];
    describe_inputs(residency, inputs, count, called->operator_info, specs, values);
    PlanRequest request = {
        .operator_info = called->operator_info,
        .attributes = called->attributes,
        .input_count = count,
        .output_count = output_count,
        .inputs = specs,
        .values = values,
    };
    return plan_table_get(residency->plans[slot], primitive, &request, out);
}

static Error *size_outputs(InlineCache *cache, const Plan *plan) {
    for (uint32_t i = 0; i < plan->output_count && i < 4; i++) {
        cache->output_bytes[i] = UINT64_MAX;
        if (!plan->measure && plan->outputs[i].dtype != DTYPE_STRING)
            TRY(shape_bytes(
                &plan->outputs[i].shape, plan->outputs[i].dtype, &cache->output_bytes[i]));
    }
    return NULL;
}

/* Dimensions that only the data decides count as none. */
static bool is_long(const Residency *residency, uint32_t primitive, const CallInput *inputs,
    uint32_t count, const Plan *plan) {
    const Primitive *called = &residency->executable->primitives[primitive];
    TensorSpec specs[PLAN_INPUTS_MAX];
    for (uint32_t i = 0; i < count; i++) specs[i] = call_input_spec(residency, &inputs[i]);
    const OperatorCall call = {.operator_info = called->operator_info,
        .attributes = called->attributes,
        .input_count = count,
        .output_count = plan->output_count,
        .inputs = specs,
        .outputs = plan->outputs};
    return operator_cost(&call).operations >= LONG_OPERATIONS;
}

Error *inline_cache_fill(InlineCache *cache, const Residency *residency, uint8_t slot,
    uint32_t primitive, const CallInput *inputs, uint32_t count, uint32_t output_count) {
    OWN(Plan, plan) = NULL;
    TRY(get_plan(residency, slot, primitive, inputs, count, output_count, &plan));
    TRY(size_outputs(cache, plan));
    plan_release(cache->plan);
    cache->plan = NULL;
    const OperatorInfo *info = residency->executable->primitives[primitive].operator_info;
    uint64_t words = key_size(inputs, count, info);
    cache->key_words = 0;
    if (words <= KEY_WORDS_MAX) {
        TRY(reserve_key(cache, words));
        write_key(cache, inputs, count, info);
    } else {
        /* too long to compare at each call: a key that matches nothing */
        TRY(reserve_key(cache, 1));
        cache->key[0] = UINT64_MAX;
        cache->key_words = 1;
    }
    cache->is_long = is_long(residency, primitive, inputs, count, plan);
    cache->plan = TAKE(plan);
    return NULL;
}
