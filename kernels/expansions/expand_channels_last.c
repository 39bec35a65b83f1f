/* Operators on images [N, spatial…, C]: expands to the same operators on [N, C, spatial…] between
 * transpositions. */
#include "kernels/shape_rules/expansion_builder.h"
#include "kernels/arguments/channels_first.h"

static Error *move_channels(ExpansionBuilder *builder, bool to_first, uint32_t *inout_value) {
    const uint32_t rank = expansion_spec(builder, *inout_value).shape.rank;
    int64_t perm[SHAPE_RANK_MAX] = {0};
    for (uint32_t i = 1; i < rank; i++)
        if (to_first)
            perm[i] = i > 1 ? i - 1 : rank - 1;
        else
            perm[i] = i + 1 < rank ? i + 1 : 1;
    return expansion_transpose(builder, *inout_value, perm, inout_value);
}

Error *expansion_channels_first(ExpansionBuilder *builder, uint32_t *inout_value) {
    return move_channels(builder, true, inout_value);
}

Error *expansion_channels_last(ExpansionBuilder *builder, uint32_t *inout_value) {
    return move_channels(builder, false, inout_value);
}

static Error *expand_as(ExpansionBuilder *builder, OperatorId id) {
    OWN(Attributes, attributes) = NULL;
    uint32_t value = 0;
    TRY(attributes_create(&attributes));
    TRY(attributes_copy_declared(builder->request->attributes, operator_get(id), attributes));
    TRY(expansion_channels_first(builder, &value));
    TRY(expansion_call(builder, (ExpansionCall){id, TAKE(attributes), 1, &value, 1}, &value));
    TRY(expansion_channels_last(builder, &value));
    expansion_set_output(builder, 0, value);
    return NULL;
}

Error *expand_fused_pool(ExpansionBuilder *builder) {
    OperatorId pool;
    TRY(channels_last_pool(builder->request, &pool));
    return expand_as(builder, pool);
}

Error *expand_fused_lrn(ExpansionBuilder *builder) { return expand_as(builder, OPERATOR_LRN); }
