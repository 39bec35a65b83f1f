/* Operators that move elements, and reductions. */
#include <string.h>

#include "compiler/nnvm/nnvm_build_internal.h"

Error *nnvm_build_concat(NnvmCall *call) {
    OWN(Attributes, attributes) = NULL;
    IrVariable **results;
    int64_t axis;
    TRY(nnvm_get_int(call, "dim|axis", 1, &axis));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", axis));
    TRY(ir_build_operator(call->at, "Concat", attributes, call->count, call->inputs, 1, &results));
    nnvm_give(call, results[0]);
    return NULL;
}

Error *nnvm_build_stack(NnvmCall *call) {
    OWN(Attributes, attributes) = NULL;
    IrVariable *list, **results;
    int64_t axis;
    TRY(nnvm_get_int(call, "axis", 0, &axis));
    TRY(constants_ints(ir_cursor_module(call->at), 1, 1, &axis, &list));
    for (uint32_t i = 0; i < call->count; i++)
        TRY(ir_build_simple(
            call->at, "Unsqueeze", NULL, call->inputs[i], list, NULL, &call->inputs[i]));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", axis));
    TRY(ir_build_operator(call->at, "Concat", attributes, call->count, call->inputs, 1, &results));
    nnvm_give(call, results[0]);
    return NULL;
}

/* 0 copies a dimension, -1 is what is left. */
Error *nnvm_build_reshape(NnvmCall *call) {
    int64_t dims[NNVM_INTS_MAX];
    uint32_t count;
    bool reverse;
    IrVariable *shape, *result;
    TRY(nnvm_get_ints(call, "shape", dims, &count));
    TRY(nnvm_get_bool(call, "reverse", false, &reverse));
    if (count == NNVM_ABSENT || count == 0)
        FAIL(UNSUPPORTED, "the attribute shape is wanted (target_shape is not read)");
    if (reverse) FAIL(UNSUPPORTED, "reverse is True");
    for (uint32_t i = 0; i < count; i++)
        if (dims[i] < -1)
            FAIL(UNSUPPORTED, "the shape has %lld; sizes, 0 and -1 are read", (long long)dims[i]);
    TRY(constants_ints(ir_cursor_module(call->at), 1, count, dims, &shape));
    TRY(ir_build_simple(call->at, "Reshape", NULL, call->inputs[0], shape, NULL, &result));
    nnvm_give(call, result);
    return NULL;
}

Error *nnvm_build_reshape_like(NnvmCall *call) {
    IrVariable *shape, *result;
    TRY(ir_build_simple(call->at, "Shape", NULL, call->inputs[1], NULL, NULL, &shape));
    TRY(ir_build_simple(call->at, "Reshape", NULL, call->inputs[0], shape, NULL, &result));
    nnvm_give(call, result);
    return NULL;
}

Error *nnvm_build_transpose(NnvmCall *call) {
    int64_t axes[NNVM_INTS_MAX];
    uint32_t count;
    IrVariable *result;
    TRY(nnvm_get_ints(call, "axes", axes, &count));
    if (count == NNVM_ABSENT || count == 0)
        TRY(ir_build_simple(call->at, "Transpose", NULL, call->inputs[0], NULL, NULL, &result));
    else
        TRY(ir_build_transpose(call->at, call->inputs[0], count, axes, &result));
    nnvm_give(call, result);
    return NULL;
}

Error *nnvm_build_swap_axis(NnvmCall *call) {
    int64_t perm[SHAPE_RANK_MAX], axes[2];
    uint32_t rank;
    IrVariable *result;
    TRY(nnvm_rank(call, 0, &rank));
    TRY(nnvm_get_int(call, "dim1", 0, &axes[0]));
    TRY(nnvm_get_int(call, "dim2", 0, &axes[1]));
    for (uint32_t i = 0; i < 2; i++) {
        const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
        if (axis < 0 || axis >= rank)
            FAIL(INVALID, "axis %lld of %u dimensions", (long long)axes[i], rank);
        axes[i] = axis;
    }
    for (uint32_t i = 0; i < rank; i++) perm[i] = i;
    perm[axes[0]] = axes[1];
    perm[axes[1]] = axes[0];
    TRY(ir_build_transpose(call->at, call->inputs[0], rank, perm, &result));
    nnvm_give(call, result);
    return NULL;
}

Error *nnvm_build_expand_dims(NnvmCall *call) {
    int64_t axes[SHAPE_RANK_MAX], axis, count;
    IrVariable *list, *result;
    if (!nnvm_text(call, "axis", NULL)) FAIL(INVALID, "the attribute axis is wanted");
    TRY(nnvm_get_int(call, "axis", 0, &axis));
    TRY(nnvm_get_int(call, "num_newaxis", 1, &count));
    if (count < 1 || count > SHAPE_RANK_MAX || (axis < 0 && count > 1) || axis < -SHAPE_RANK_MAX ||
        axis > SHAPE_RANK_MAX)
        FAIL(INVALID, "%lld axes from axis %lld on", (long long)count, (long long)axis);
    for (uint32_t i = 0; i < (uint32_t)count; i++) axes[i] = axis + i;
    TRY(constants_ints(ir_cursor_module(call->at), 1, (uint32_t)count, axes, &list));
    TRY(ir_build_simple(call->at, "Unsqueeze", NULL, call->inputs[0], list, NULL, &result));
    nnvm_give(call, result);
    return NULL;
}

Error *nnvm_build_squeeze(NnvmCall *call) {
    int64_t axes[NNVM_INTS_MAX];
    uint32_t count;
    IrVariable *list = NULL, *result;
    TRY(nnvm_get_ints(call, "axis", axes, &count));
    if (count != NNVM_ABSENT && count > 0)
        TRY(constants_ints(ir_cursor_module(call->at), 1, count, axes, &list));
    TRY(ir_build_simple(call->at, "Squeeze", NULL, call->inputs[0], list, NULL, &result));
    nnvm_give(call, result);
    return NULL;
}

/* ---- parts ---- */

Error *nnvm_build_slice_channel(NnvmCall *call) {
    OWN(Attributes, attributes) = NULL;
    int64_t count, axis;
    bool squeeze;
    IrVariable **parts, *list;
    TRY(nnvm_get_int(call, "num_outputs|indices_or_sections", 0, &count));
    TRY(nnvm_get_int(call, "axis", 1, &axis));
    TRY(nnvm_get_bool(call, "squeeze_axis", false, &squeeze));
    if (count < 1 || count > NNVM_RESULTS_MAX)
        FAIL(INVALID, "%lld parts; 1 to %d are read", (long long)count, NNVM_RESULTS_MAX);
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", axis));
    TRY(attributes_set_int(attributes, "num_outputs", count));
    TRY(ir_build_operator(call->at, "Split", attributes, 1, call->inputs, (uint32_t)count, &parts));
    TRY(constants_ints(ir_cursor_module(call->at), 1, 1, &axis, &list));
    call->result_count = (uint32_t)count;
    for (uint32_t i = 0; i < call->result_count; i++) {
        call->results[i] = parts[i];
        if (squeeze)
            TRY(ir_build_simple(
                call->at, "Squeeze", NULL, parts[i], list, NULL, &call->results[i]));
    }
    return NULL;
}

/* Cuts along the axes 0 … count - 1, or along one. */
static Error *cut(NnvmCall *call, const int64_t *begins, const int64_t *ends, const int64_t *steps,
    const int64_t *axes, uint32_t count) {
    const int64_t *const lists[] = {begins, ends, axes, steps};
    IrVariable *inputs[5] = {call->inputs[0]}, **results;
    for (uint32_t i = 0; i < 4; i++)
        TRY(constants_ints(ir_cursor_module(call->at), 1, count, lists[i], &inputs[i + 1]));
    TRY(ir_build_operator(call->at, "Slice", NULL, 5, inputs, 1, &results));
    nnvm_give(call, results[0]);
    return NULL;
}

Error *nnvm_build_slice_axis(NnvmCall *call) {
    int64_t axis, begin, end;
    const int64_t one = 1;
    if (!nnvm_text(call, "axis", NULL)) FAIL(INVALID, "the attribute axis is wanted");
    TRY(nnvm_get_int(call, "axis", 0, &axis));
    TRY(nnvm_get_int(call, "begin", 0, &begin));
    TRY(nnvm_get_int(call, "end", INT64_MAX, &end));
    return cut(call, &begin, &end, &one, &axis, 1);
}

Error *nnvm_build_slice(NnvmCall *call) {
    int64_t begins[NNVM_INTS_MAX], ends[NNVM_INTS_MAX], steps[NNVM_INTS_MAX], axes[NNVM_INTS_MAX];
    uint32_t count, end_count, step_count;
    TRY(nnvm_get_ints(call, "begin", begins, &count));
    TRY(nnvm_get_ints(call, "end", ends, &end_count));
    TRY(nnvm_get_ints(call, "step|stride", steps, &step_count));
    if (step_count == NNVM_ABSENT || step_count == 0) step_count = 0;
    if (count == NNVM_ABSENT || count == 0 || count != end_count ||
        (step_count != 0 && step_count != count))
        FAIL(INVALID, "begin, end and step have to be lists of as many numbers");
    for (uint32_t i = 0; i < count; i++) {
        if (step_count == 0 || steps[i] == NNVM_NONE) steps[i] = 1;
        const bool back = steps[i] < 0;
        if (begins[i] == NNVM_NONE) begins[i] = back ? INT64_MAX : 0;
        if (ends[i] == NNVM_NONE) ends[i] = back ? INT64_MIN : INT64_MAX;
        axes[i] = i;
    }
    return cut(call, begins, ends, steps, axes, count);
}

/* Rows of a table by numbers; beyond its ends the first or the last. */
static Error *gather(
    NnvmCall *call, IrVariable *table, IrVariable *places, int64_t axis, int64_t rows) {
    IrVariable *first, *last, *numbers, *result;
    TRY(ir_build_cast(call->at, places, DTYPE_INT64, &numbers));
    TRY(constants_number(ir_cursor_module(call->at), DTYPE_INT64, 0, &first));
    TRY(constants_number(ir_cursor_module(call->at), DTYPE_INT64, (double)(rows - 1), &last));
    TRY(ir_build_simple(call->at, "Clip", NULL, numbers, first, last, &numbers));
    TRY(nnvm_make_along(call, "Gather", axis, table, numbers, &result));
    nnvm_give(call, result);
    return NULL;
}

Error *nnvm_build_embedding(NnvmCall *call) {
    int64_t rows;
    TRY(nnvm_check_units(call, "input_dim", 1, 0));
    TRY(nnvm_check_units(call, "output_dim", 1, 1));
    TRY(nnvm_get_int(call, "input_dim", 0, &rows));
    if (rows < 1) FAIL(INVALID, "the attribute input_dim is %lld", (long long)rows);
    return gather(call, call->inputs[1], call->inputs[0], 0, rows);
}

Error *nnvm_build_take(NnvmCall *call) {
    int64_t axis;
    const IrType *type = &call->inputs[0]->type;
    TRY(nnvm_get_int(call, "axis", 0, &axis));
    TRY(nnvm_only(call, "mode", "clip"));
    if (type->kind != IR_TYPE_TENSOR || !type->rank_known || axis < 0 || axis >= type->rank ||
        type->dims[axis] < 1)
        FAIL(UNSUPPORTED, "axis %lld of a tensor whose size there is not known", (long long)axis);
    return gather(call, call->inputs[0], call->inputs[1], axis, type->dims[axis]);
}

/* pad_width: before and behind each dimension in turn */
Error *nnvm_build_pad(NnvmCall *call) {
    OWN(Attributes, attributes) = NULL;
    int64_t widths[NNVM_INTS_MAX], pads[NNVM_INTS_MAX];
    uint32_t count;
    double value;
    IrVariable *list, *number, *result;
    TRY(nnvm_get_ints(call, "pad_width", widths, &count));
    if (count == NNVM_ABSENT || count == 0 || count % 2 != 0)
        FAIL(INVALID, "the attribute pad_width has to be pairs of numbers");
    for (uint32_t i = 0; i < count / 2; i++) {
        pads[i] = widths[2 * i];
        pads[count / 2 + i] = widths[2 * i + 1];
    }
    TRY(nnvm_get_float(call, "constant_value|pad_value", 0, &value));
    TRY(constants_ints(ir_cursor_module(call->at), 1, count, pads, &list));
    TRY(constants_number(ir_cursor_module(call->at), nnvm_dtype(call, 0), value, &number));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_text(attributes, "mode", nnvm_text(call, "mode", "constant")));
    TRY(ir_build_simple(call->at, "Pad", attributes, call->inputs[0], list, number, &result));
    nnvm_give(call, result);
    return NULL;
}

/* ---- reductions ---- */

/* The axes that are not named. */
static Error *other_axes(const NnvmCall *call, int64_t axes[NNVM_INTS_MAX], uint32_t *inout_count) {
    bool named[SHAPE_RANK_MAX] = {false};
    uint32_t rank, count = 0;
    TRY(nnvm_rank(call, 0, &rank));
    for (uint32_t i = 0; i < *inout_count; i++) {
        const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
        if (axis < 0 || axis >= rank)
            FAIL(INVALID, "axis %lld of %u dimensions", (long long)axes[i], rank);
        named[axis] = true;
    }
    for (uint32_t i = 0; i < rank; i++)
        if (!named[i]) axes[count++] = i;
    *inout_count = count;
    return NULL;
}

/* target: the operator */
Error *nnvm_build_reduce(NnvmCall *call) {
    OWN(Attributes, attributes) = NULL;
    int64_t axes[NNVM_INTS_MAX];
    uint32_t count;
    bool keeps, excludes;
    IrVariable *list = NULL, *result;
    TRY(nnvm_get_ints(call, "axis", axes, &count));
    TRY(nnvm_get_bool(call, "keepdims", false, &keeps));
    TRY(nnvm_get_bool(call, "exclude", false, &excludes));
    const bool named = count != NNVM_ABSENT && count > 0;
    if (named && excludes) TRY(other_axes(call, axes, &count));
    if (named && count == 0) return nnvm_give(call, call->inputs[0]), NULL;
    if (named) TRY(constants_ints(ir_cursor_module(call->at), 1, count, axes, &list));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "keepdims", keeps));
    TRY(ir_build_simple(
        call->at, call->row->target, attributes, call->inputs[0], list, NULL, &result));
    nnvm_give(call, result);
    return NULL;
}
