/* Operators over images [N, spatial…, C]: what those over [N, C, spatial…] make of the same images.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/references/reference.h"

enum { RESIDUAL = 3 };

/* Where dimension d of 1 … rank - 1 goes. */
static uint32_t place_of(uint32_t d, uint32_t rank, bool to_first) {
    if (to_first) return d + 1 < rank ? d + 1 : 1;
    return d > 1 ? d - 1 : rank - 1;
}

/* Moves the last dimension to the second place, or back. */
static ReferenceTensor moved(const ReferenceTensor *from, bool to_first) {
    ReferenceTensor made = *from;
    const uint32_t rank = from->shape.rank;
    for (uint32_t d = 1; d < rank; d++)
        made.shape.dims[place_of(d, rank, to_first)] = from->shape.dims[d];
    made.values = calloc((size_t)from->count + 1, sizeof(double));
    if (!made.values) abort();
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (int64_t i = 0; i < from->count; i++, (void)reference_next(&from->shape, index)) {
        int64_t at[SHAPE_RANK_MAX] = {0};
        at[0] = index[0];
        for (uint32_t d = 1; d < rank; d++) at[place_of(d, rank, to_first)] = index[d];
        made.values[reference_flat(&made.shape, at)] = from->values[i];
    }
    return made;
}

static void with_channels_first(ReferenceCall *call, OperatorId id, Reference *reference) {
    ReferenceCall first = *call;
    first.operator_info = operator_get(id);
    first.inputs[0] = moved(&call->inputs[0], true);
    const bool has_residual =
        id != OPERATOR_QLINEAR_CONV && call->inputs[RESIDUAL].present; /* else its weights */
    if (has_residual) first.inputs[RESIDUAL] = moved(&call->inputs[RESIDUAL], true);
    first.outputs[0] = moved(&call->outputs[0], true);
    reference(&first);
    ReferenceTensor result = moved(&first.outputs[0], false);
    memcpy(call->outputs[0].values, result.values, (size_t)result.count * sizeof(double));
    free(result.values);
    free(first.outputs[0].values);
    if (has_residual) free(first.inputs[RESIDUAL].values);
    free(first.inputs[0].values);
}

void reference_fused_conv_last(ReferenceCall *call) {
    with_channels_first(call, OPERATOR_FUSED_CONV, reference_fused_conv);
}

void reference_qlinear_conv_last(ReferenceCall *call) {
    with_channels_first(call, OPERATOR_QLINEAR_CONV, reference_qlinear_conv);
}

void reference_fused_pool(ReferenceCall *call) {
    static const struct {
        OperatorId id;
        Reference *reference;
    } pools[] = {{OPERATOR_MAX_POOL, reference_max_pool},
        {OPERATOR_AVERAGE_POOL, reference_average_pool},
        {OPERATOR_GLOBAL_MAX_POOL, reference_global_pool},
        {OPERATOR_GLOBAL_AVERAGE_POOL, reference_global_pool}};
    const char *name = attributes_text(call->attributes, "operator");
    for (size_t i = 0; i < sizeof pools / sizeof pools[0]; i++)
        if (strcmp(operator_get(pools[i].id)->name, name) == 0)
            with_channels_first(call, pools[i].id, pools[i].reference);
}

void reference_fused_lrn(ReferenceCall *call) {
    with_channels_first(call, OPERATOR_LRN, reference_lrn);
}
