/* Sequences are lists. Operators with a position count negative positions from the end at run
 * time. */
#include "compiler/frontend/base/onnx_internal.h"

static Error *need_input(const OnnxNode *node, uint32_t index, IrVariable **out) {
    *out = onnx_input(node, index);
    if (!*out) FAIL(INVALID, "input %u is missing", index);
    return NULL;
}

static Error *packed(
    const OnnxNode *node, IrPackedCall call, IrVariable *const *arguments, IrVariable **out) {
    return ir_build_call_packed(onnx_at(node), call, arguments, out);
}

static Error *read_position(const OnnxNode *node, uint32_t index, IrVariable **out) {
    IrVariable *position;
    TRY(need_input(node, index, &position));
    return ir_build_read_scalar(onnx_at(node), position, IR_TYPE_INT, out);
}

/* A list has no declared element type, but the attribute must be a valid type. */
Error *onnx_convert_sequence_empty(const OnnxNode *node) {
    IrVariable *list;
    int64_t dtype;
    DType element;
    TRY(onnx_attribute_int(node, "dtype", DTYPE_FLOAT32, &dtype));
    if (dtype < INT32_MIN || dtype > INT32_MAX) FAIL(INVALID, "attribute dtype");
    TRY_WRAP(onnx_dtype((int32_t)dtype, &element), "attribute dtype");
    TRY(ir_build_list(onnx_at(node), 0, NULL, &list));
    return onnx_node_set_output(node, 0, list);
}

Error *onnx_convert_sequence_construct(const OnnxNode *node) {
    IrVariable *list, *unused;
    for (uint32_t i = 0; i < node->input_count; i++) TRY(need_input(node, i, &unused));
    TRY(ir_build_list(onnx_at(node), node->input_count, node->inputs, &list));
    return onnx_node_set_output(node, 0, list);
}

Error *onnx_convert_sequence_insert(const OnnxNode *node) {
    IrVariable *arguments[3], *list;
    TRY(need_input(node, 0, &arguments[0]));
    TRY(need_input(node, 1, &arguments[1]));
    if (!onnx_input(node, 2)) {
        TRY(ir_build_list_append(onnx_at(node), arguments[0], arguments[1], &list));
    } else {
        TRY(read_position(node, 2, &arguments[2]));
        TRY(packed(node, IR_PACKED_SEQUENCE_INSERT, arguments, &list));
    }
    return onnx_node_set_output(node, 0, list);
}

Error *onnx_convert_sequence_erase(const OnnxNode *node) {
    IrVariable *arguments[2], *list;
    TRY(need_input(node, 0, &arguments[0]));
    if (onnx_input(node, 1))
        TRY(read_position(node, 1, &arguments[1]));
    else
        TRY(ir_constant_int(node->import->module, -1, &arguments[1]));
    TRY(packed(node, IR_PACKED_SEQUENCE_ERASE, arguments, &list));
    return onnx_node_set_output(node, 0, list);
}

Error *onnx_convert_sequence_at(const OnnxNode *node) {
    IrVariable *arguments[2], *item;
    TRY(need_input(node, 0, &arguments[0]));
    TRY(read_position(node, 1, &arguments[1]));
    TRY(packed(node, IR_PACKED_SEQUENCE_AT, arguments, &item));
    return onnx_node_set_output(node, 0, item);
}

Error *onnx_convert_sequence_length(const OnnxNode *node) {
    IrVariable *list, *size, *length;
    TRY(need_input(node, 0, &list));
    TRY(packed(node, IR_PACKED_LIST_SIZE, &list, &size));
    TRY(ir_build_make_tensor(onnx_at(node), size, DTYPE_INT64, &length));
    return onnx_node_set_output(node, 0, length);
}

Error *onnx_convert_concat_from_sequence(const OnnxNode *node) {
    IrVariable *list, *joined;
    int64_t axis, new_axis;
    if (!onnx_attribute_find(node, "axis")) FAIL(INVALID, "attribute axis is missing");
    TRY(onnx_attribute_int(node, "axis", 0, &axis));
    TRY(onnx_attribute_int(node, "new_axis", 0, &new_axis));
    if (new_axis != 0 && new_axis != 1)
        FAIL(INVALID, "attribute new_axis is %lld, not 0 or 1", (long long)new_axis);
    TRY(need_input(node, 0, &list));
    TRY(ir_build_list_concat(onnx_at(node), list, NULL, axis, new_axis == 1, &joined));
    return onnx_node_set_output(node, 0, joined);
}

/* ---- SplitToSequence ---- */

typedef struct SplitParts {
    int64_t axis;
    bool squeeze; /* a piece has length 1, and the axis is dropped */
    IrVariable *input, *bounds;
} SplitParts;

static Error *gather(
    IrCursor at, IrVariable *from, IrVariable *where, int64_t axis, IrVariable **out) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", axis));
    return ir_build_simple(at, "Gather", attributes, from, where, NULL, out);
}

/* Bound number `index` (an int) as a rank-0 tensor. */
static Error *bound(IrCursor at, const SplitParts *parts, IrVariable *index, IrVariable **out) {
    IrVariable *where;
    TRY(ir_build_make_tensor(at, index, DTYPE_INT64, &where));
    return gather(at, parts->bounds, where, 0, out);
}

static Error *split_piece(
    const OnnxNode *node, const SplitParts *parts, const IrLoop *loop, IrVariable **out) {
    IrCursor at = ir_at_end(loop->body);
    IrVariable *one, *next, *inputs[4] = {parts->input}, **results;
    if (parts->squeeze) {
        TRY(ir_build_make_tensor(at, loop->counter, DTYPE_INT64, &next));
        return gather(at, parts->input, next, parts->axis, out);
    }
    TRY(ir_constant_int(node->import->module, 1, &one));
    TRY(ir_build_int_op(at, INT_OP_ADD, loop->counter, one, &next));
    TRY(bound(at, parts, loop->counter, &inputs[1]));
    TRY(bound(at, parts, next, &inputs[2]));
    TRY(onnx_constant_ints(node, &parts->axis, 1, &inputs[3]));
    TRY(ir_build_operator(at, "Slice", NULL, 4, inputs, 1, &results));
    *out = results[0];
    return NULL;
}

/* Computes where pieces begin and end, and their number. */
static Error *split_bounds(const OnnxNode *node, SplitParts *parts, IrVariable **out_count) {
    IrVariable *split = onnx_input(node, 1), *shape, *length, *one;
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", parts->axis));
    TRY(ir_build_shape_of(onnx_at(node), parts->input, &shape));
    TRY(ir_build_simple(
        onnx_at(node), "SplitBounds", attributes, shape, split, NULL, &parts->bounds));
    TRY(ir_build_shape_of(onnx_at(node), parts->bounds, &shape));
    TRY(ir_build_read_scalar(onnx_at(node), shape, IR_TYPE_INT, &length));
    TRY(ir_constant_int(node->import->module, 1, &one));
    return ir_build_int_op(onnx_at(node), INT_OP_SUB, length, one, out_count);
}

Error *onnx_convert_split_to_sequence(const OnnxNode *node) {
    SplitParts parts = {0};
    IrVariable *count, *list, *piece, *next;
    int64_t keep_dims;
    IrLoop loop;
    TRY(need_input(node, 0, &parts.input));
    TRY(onnx_attribute_int(node, "axis", 0, &parts.axis));
    TRY(onnx_attribute_int(node, "keepdims", 1, &keep_dims));
    if (keep_dims != 0 && keep_dims != 1)
        FAIL(INVALID, "attribute keepdims is %lld, not 0 or 1", (long long)keep_dims);
    /* keepdims counts only if no lengths are given */
    parts.squeeze = keep_dims == 0 && !onnx_input(node, 1);
    TRY(split_bounds(node, &parts, &count));
    TRY(ir_build_list(onnx_at(node), 0, NULL, &list));
    TRY(ir_build_loop(onnx_at(node), "split", count, NULL, 1, &list, NULL, &loop));
    TRY(split_piece(node, &parts, &loop, &piece));
    TRY(ir_build_list_append(ir_at_end(loop.body), loop.carried[0], piece, &next));
    TRY(ir_build_loop_end(&loop, NULL, &next));
    return onnx_node_set_output(node, 0, loop.results[0]);
}
