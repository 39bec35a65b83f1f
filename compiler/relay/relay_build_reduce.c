/* Reductions, running sums and the largest elements. */
#include <string.h>

#include "compiler/relay/relay_build_internal.h"

/* The reduced axes, from 0 on, in order: those named, all, or with exclude the others. */
static Error *get_axes(
    RelayOperatorCall *call, uint32_t rank, int64_t out[SHAPE_RANK_MAX], uint32_t *out_count) {
    int64_t axes[RELAY_INTS_MAX];
    uint32_t count;
    bool named[SHAPE_RANK_MAX] = {false}, exclude;
    TRY(relay_get_ints(call, "axis", axes, &count));
    TRY(relay_get_bool(call, "exclude", false, &exclude));
    const bool all = count == RELAY_ABSENT;
    for (uint32_t i = 0; !all && i < count; i++) {
        const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
        if (axis < 0 || axis >= rank)
            FAIL(INVALID, "attribute axis has %lld; the tensor has %u dimensions",
                (long long)axes[i], rank);
        named[axis] = true;
    }
    *out_count = 0;
    for (uint32_t i = 0; i < rank; i++)
        if (all || named[i] != exclude) out[(*out_count)++] = i;
    return NULL;
}

static Error *reduce(RelayOperatorCall *call, IrVariable *input, IrVariable **out) {
    OWN(Attributes, attributes) = NULL;
    int64_t axes[SHAPE_RANK_MAX];
    uint32_t rank, count;
    bool keep;
    IrVariable *list;
    TRY(relay_rank(call, 0, &rank));
    TRY(get_axes(call, rank, axes, &count));
    TRY(relay_get_bool(call, "keepdims", false, &keep));
    *out = input;
    if (count == 0) return NULL; /* nothing is reduced */
    TRY(constants_ints(ir_cursor_module(call->at), 1, count, axes, &list));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "keepdims", keep));
    return ir_build_simple(call->at, call->row->target, attributes, input, list, NULL, out);
}

Error *relay_build_reduce(RelayOperatorCall *call) {
    IrVariable *result;
    TRY(reduce(call, call->inputs[0], &result));
    relay_give(call, result);
    return NULL;
}

Error *relay_build_reduce_bool(RelayOperatorCall *call) {
    IrVariable *bytes, *reduced, *result;
    DType dtype;
    TRY(relay_dtype(call, 0, &dtype));
    if (dtype != DTYPE_BOOL) FAIL(INVALID, "an input of %s, not bool", dtype_name(dtype));
    TRY(ir_build_cast(call->at, call->inputs[0], DTYPE_UINT8, &bytes));
    TRY(reduce(call, bytes, &reduced));
    TRY(ir_build_cast(call->at, reduced, DTYPE_BOOL, &result));
    relay_give(call, result);
    return NULL;
}

/* Indices are int32. Without an axis they are into all elements in a row. */
Error *relay_build_arg_reduce(RelayOperatorCall *call) {
    OWN(Attributes, attributes) = NULL;
    int64_t axes[SHAPE_RANK_MAX];
    uint32_t rank, count;
    bool keep, last;
    IrVariable *input = call->inputs[0], *shape, *indices, *result;
    TRY(relay_rank(call, 0, &rank));
    TRY(get_axes(call, rank, axes, &count));
    TRY(relay_get_bool(call, "keepdims", false, &keep));
    TRY(relay_get_bool(call, "select_last_index", false, &last));
    if (count != 1 && (count != rank || keep))
        FAIL(UNSUPPORTED, "%u axes; one is taken, or all without keepdims", count);
    if (count != 1) {
        const int64_t flat = -1;
        TRY(constants_ints(ir_cursor_module(call->at), 1, 1, &flat, &shape));
        TRY(ir_build_simple(call->at, "Reshape", NULL, input, shape, NULL, &input));
        axes[0] = 0;
    }
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", axes[0]));
    TRY(attributes_set_int(attributes, "keepdims", keep));
    TRY(attributes_set_int(attributes, "select_last_index", last));
    TRY(ir_build_simple(call->at, call->row->target, attributes, input, NULL, NULL, &indices));
    TRY(ir_build_cast(call->at, indices, DTYPE_INT32, &result));
    relay_give(call, result);
    return NULL;
}

Error *relay_build_cumsum(RelayOperatorCall *call) {
    OWN(Attributes, attributes) = NULL;
    IrVariable *axis, *input = call->inputs[0], *result;
    uint32_t rank, number;
    bool exclusive;
    DType dtype;
    TRY(relay_rank(call, 0, &rank));
    if (!relay_attribute(call, "axis") && rank != 1)
        FAIL(UNSUPPORTED, "no axis, for a tensor of %u dimensions", rank);
    TRY(relay_get_axis(call, "axis", rank, 0, &number));
    TRY(relay_get_bool(call, "exclusive", false, &exclusive));
    TRY(relay_get_dtype(call, "dtype", call->types[0]->dtype, &dtype));
    if (dtype != call->types[0]->dtype) TRY(ir_build_cast(call->at, input, dtype, &input));
    TRY(constants_number(ir_cursor_module(call->at), DTYPE_INT64, number, &axis));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "exclusive", exclusive));
    TRY(ir_build_simple(call->at, "CumSum", attributes, input, axis, NULL, &result));
    relay_give(call, result);
    return NULL;
}

/* ret_type: both (a tuple), values or indices */
Error *relay_build_topk(RelayOperatorCall *call) {
    OWN(Attributes, attributes) = NULL;
    IrVariable *count, *inputs[2], **results, *indices;
    uint32_t rank, axis;
    int64_t k;
    bool ascending;
    const char *wanted;
    DType dtype;
    TRY(relay_rank(call, 0, &rank));
    TRY(relay_get_axis(call, "axis", rank, -1, &axis));
    TRY(relay_get_int(call, "k", 1, &k));
    TRY(relay_get_bool(call, "is_ascend", false, &ascending));
    TRY(relay_get_text(call, "ret_type", "both", &wanted));
    TRY(relay_get_dtype(call, "dtype", DTYPE_INT32, &dtype));
    if (k < 1 && call->types[0]->dims[axis] < 0)
        FAIL(UNSUPPORTED, "all elements (k %lld) of a dimension that is not known", (long long)k);
    if (k < 1) k = call->types[0]->dims[axis];
    TRY(constants_ints(ir_cursor_module(call->at), 1, 1, &k, &count));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", axis));
    TRY(attributes_set_int(attributes, "largest", !ascending));
    inputs[0] = call->inputs[0];
    inputs[1] = count;
    TRY(ir_build_operator(call->at, "TopK", attributes, 2, inputs, 2, &results));
    TRY(ir_build_cast(call->at, results[1], dtype, &indices));
    call->is_tuple = strcmp(wanted, "both") == 0;
    call->result_count = call->is_tuple ? 2 : 1;
    call->results[0] = strcmp(wanted, "indices") == 0 ? indices : results[0];
    call->results[1] = indices;
    return NULL;
}
