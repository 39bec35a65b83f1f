#include "kernels/shape_rules/operator_expansion.h"

#include "base/allocator.h"
#include "kernels/shape_rules/expansion_builder.h"

typedef Error *Expander(ExpansionBuilder *builder);

static Expander *const expanders[OPERATOR_COUNT] = {
#define EXPANSION(id, function) [OPERATOR_##id] = expand_##function,
#include "kernels/shape_rules/expansions.def"
#undef EXPANSION
};

bool operator_expansion_exists(OperatorId operator_id) {
    return operator_id < OPERATOR_COUNT && expanders[operator_id];
}

void operator_expansion_release(Expansion *expansion) {
    if (!expansion) return;
    for (uint32_t i = 0; i < expansion->node_count; i++) {
        attributes_release(expansion->nodes[i].attributes);
        memory_free(expansion->nodes[i].inputs);
    }
    for (uint32_t i = 0; i < expansion->value_count; i++)
        if (expansion->values[i].source == EXPANSION_CONSTANT)
            memory_free((void *)(uintptr_t)expansion->values[i].bytes);
    memory_free(expansion->nodes);
    memory_free(expansion->values);
    memory_free(expansion);
}

Error *operator_expansion_request(
    const Expansion *expansion, const ExpansionNode *node, PlanRequest **out) {
    void *block;
    const size_t each = sizeof(TensorSpec) + sizeof(void *);
    TRY(memory_alloc(1, sizeof(PlanRequest) + node->input_count * each, &block));
    PlanRequest *request = block;
    TensorSpec *specs = (TensorSpec *)(request + 1);
    const void **values = (const void **)(specs + node->input_count);
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] == EXPANSION_ABSENT) continue;
        const ExpansionValue *value = &expansion->values[node->inputs[i]];
        specs[i] = value->spec;
        if (operator_reads_value(node->operator_info, i)) values[i] = value->bytes;
    }
    request->operator_info = node->operator_info;
    request->attributes = node->attributes;
    request->input_count = node->input_count;
    request->output_count = node->output_count;
    request->inputs = specs;
    request->values = values;
    const bool is_inferred = node->first_output < expansion->value_count;
    for (uint32_t i = 0; i < node->output_count && is_inferred; i++)
        request->outputs[i] = expansion->values[node->first_output + i].spec;
    *out = request;
    return NULL;
}

static Error *expand(Expansion *expansion, const PlanRequest *request) {
    const OperatorInfo *info = request->operator_info;
    ExpansionBuilder builder = {request, expansion};
    if (!operator_expansion_exists(info->id)) FAIL(UNSUPPORTED, "%s has no expansion", info->name);
    TRY(expansion_builder_start(&builder));
    TRY(expanders[info->id](&builder));
    for (uint32_t i = 0; i < request->output_count; i++)
        if (expansion->outputs[i] == EXPANSION_ABSENT)
            FAIL(INTERNAL, "%s: its expansion lacks output %u", info->name, i);
    return NULL;
}

Error *operator_expansion_create(const PlanRequest *request, Expansion **out) {
    void *block;
    TRY(memory_alloc(1, sizeof(Expansion), &block));
    OWN(Expansion, expansion) = block;
    TRY(expand(expansion, request));
    *out = TAKE(expansion);
    return NULL;
}
