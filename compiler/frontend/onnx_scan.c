/* Scan: a loop over slices of its scan inputs, joining its scan outputs. */
#include "compiler/frontend/onnx_internal.h"

typedef struct ScanParts {
    const Onnx__GraphProto *body;
    uint32_t state_count, input_count, output_count; /* state values, scan inputs, scan outputs */
    IrVariable *length;                              /* rounds, an int */
    IrVariable **initial;
} ScanParts;

/* Entry index of an optional list attribute, 0 where the list is absent. */
static Error *list_entry(
    const OnnxNode *node, const char *name, uint32_t index, uint32_t count, int64_t *out) {
    const Onnx__AttributeProto *attribute;
    *out = 0;
    TRY(onnx_attribute_ints(node, name, &attribute));
    if (!attribute || attribute->n_ints == 0) return NULL;
    if (attribute->n_ints != count)
        FAIL(INVALID, "attribute %s has %zu entries for %u", name, attribute->n_ints, count);
    *out = attribute->ints[index];
    return NULL;
}

static Error *input_length(
    const OnnxNode *node, const ScanParts *parts, uint32_t index, IrVariable **out) {
    int64_t axis;
    IrVariable *x = onnx_input(node, parts->state_count + index), *shape, *where, *length;
    if (!x) FAIL(INVALID, "scan input %u is missing", index);
    TRY(list_entry(node, "scan_input_axes", index, parts->input_count, &axis));
    TRY(ir_build_shape_of(onnx_at(node), x, &shape));
    TRY(onnx_constant_int0(node, axis, &where));
    TRY(ir_build_simple(onnx_at(node), "Gather", NULL, shape, where, NULL, &length));
    return ir_build_read_scalar(onnx_at(node), length, IR_TYPE_INT, out);
}

/* Scan inputs of different lengths fail at run time, before the first round. */
static Error *check_lengths(const OnnxNode *node, const ScanParts *parts) {
    for (uint32_t i = 1; i < parts->input_count; i++) {
        IrVariable *length, *same, **unused;
        IrBlock *then_block, *else_block;
        TRY(input_length(node, parts, i, &length));
        TRY(ir_build_int_op(onnx_at(node), INT_OP_EQ, length, parts->length, &same));
        TRY(ir_build_if(onnx_at(node), same, 0, &then_block, &else_block, &unused));
        TRY(ir_block_set_results(then_block, 0, NULL));
        TRY(ir_build_fatal(
            ir_at_end(else_block), "Scan: its scan inputs have different lengths", 0, &unused));
        TRY(ir_block_set_results(else_block, 0, NULL));
    }
    return NULL;
}

static Error *read_scan(const OnnxNode *node, ScanParts *parts) {
    int64_t scan_inputs;
    *parts = (ScanParts){0};
    if (node->scope->opset < 9) FAIL(UNSUPPORTED, "the Scan of opset 8, with a batch axis");
    TRY(onnx_attribute_graph(node, "body", &parts->body));
    TRY(onnx_attribute_int(node, "num_scan_inputs", 0, &scan_inputs));
    if (scan_inputs < 1 || scan_inputs > node->input_count)
        FAIL(INVALID, "num_scan_inputs is %lld, the node has %u inputs", (long long)scan_inputs,
            node->input_count);
    parts->input_count = (uint32_t)scan_inputs;
    parts->state_count = node->input_count - parts->input_count;
    if (parts->body->n_input != node->input_count || parts->body->n_output < parts->state_count ||
        parts->body->n_output > IR_OPERANDS_MAX)
        FAIL(INVALID, "the body has %zu inputs and %zu outputs for %u inputs, %u of them scanned",
            parts->body->n_input, parts->body->n_output, node->input_count, parts->input_count);
    parts->output_count = (uint32_t)parts->body->n_output - parts->state_count;
    TRY(input_length(node, parts, 0, &parts->length));
    TRY(check_lengths(node, parts));
    void *memory;
    TRY(arena_alloc(&node->import->module->arena, parts->state_count + parts->output_count,
        sizeof(IrVariable *), &memory));
    parts->initial = memory;
    for (uint32_t i = 0; i < parts->state_count; i++) {
        parts->initial[i] = onnx_input(node, i);
        if (!parts->initial[i]) FAIL(INVALID, "input %u is missing", i);
    }
    for (uint32_t i = 0; i < parts->output_count; i++)
        TRY(ir_build_list(onnx_at(node), 0, NULL, &parts->initial[parts->state_count + i]));
    return NULL;
}

static Error *is_backwards(
    const OnnxNode *node, const char *name, uint32_t index, uint32_t count, bool *out) {
    int64_t direction;
    TRY(list_entry(node, name, index, count, &direction));
    if (direction != 0 && direction != 1)
        FAIL(INVALID, "attribute %s: %lld; 0 and 1 are directions", name, (long long)direction);
    *out = direction == 1;
    return NULL;
}

/* Slice number `counter` of scan input index, from the front or the back. */
static Error *input_slice(const OnnxNode *node, const ScanParts *parts, const IrLoop *loop,
    uint32_t index, IrVariable **out) {
    int64_t axis;
    bool backwards;
    IrCursor at = ir_at_end(loop->body);
    IrVariable *number = loop->counter, *one, *where;
    TRY(list_entry(node, "scan_input_axes", index, parts->input_count, &axis));
    TRY(is_backwards(node, "scan_input_directions", index, parts->input_count, &backwards));
    if (backwards) {
        TRY(ir_constant_int(node->import->module, 1, &one));
        TRY(ir_build_int_op(at, INT_OP_SUB, parts->length, number, &number));
        TRY(ir_build_int_op(at, INT_OP_SUB, number, one, &number));
    }
    TRY(ir_build_make_tensor(at, number, DTYPE_INT64, &where));
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", axis));
    return ir_build_simple(
        at, "Gather", attributes, onnx_input(node, parts->state_count + index), where, NULL, out);
}

static Error *fill_scan(
    const OnnxNode *node, const ScanParts *parts, IrLoop *loop, OnnxScope *scope) {
    IrVariable **results;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const char *name = parts->body->input[i]->name ? parts->body->input[i]->name : "";
        IrVariable *value;
        if (i < parts->state_count)
            value = loop->carried[i];
        else
            TRY(input_slice(node, parts, loop, i - parts->state_count, &value));
        TRY(onnx_scope_set(scope, name, value));
    }
    TRY(onnx_graph_body(node->import, scope, parts->body, &results));
    for (uint32_t i = parts->state_count; i < parts->state_count + parts->output_count; i++)
        TRY(ir_build_list_append(ir_at_end(loop->body), loop->carried[i], results[i], &results[i]));
    return ir_build_loop_end(loop, NULL, results);
}

/* Slice with step -1 over the whole axis. */
static Error *reverse(const OnnxNode *node, int64_t axis, IrVariable **inout) {
    static const int64_t start = -1, end = INT64_MIN, step = -1;
    IrVariable *inputs[5] = {*inout}, **results;
    TRY(onnx_constant_ints(node, &start, 1, &inputs[1]));
    TRY(onnx_constant_ints(node, &end, 1, &inputs[2]));
    TRY(onnx_constant_ints(node, &axis, 1, &inputs[3]));
    TRY(onnx_constant_ints(node, &step, 1, &inputs[4]));
    TRY(ir_build_operator(onnx_at(node), "Slice", NULL, 5, inputs, 1, &results));
    *inout = results[0];
    return NULL;
}

static Error *join_output(
    const OnnxNode *node, const ScanParts *parts, const IrLoop *loop, uint32_t index) {
    int64_t axis;
    bool backwards;
    IrVariable *joined;
    TRY(list_entry(node, "scan_output_axes", index, parts->output_count, &axis));
    TRY(is_backwards(node, "scan_output_directions", index, parts->output_count, &backwards));
    TRY(ir_build_list_concat(onnx_at(node), loop->results[parts->state_count + index],
        loop->iterations, axis, true, &joined));
    if (backwards) TRY(reverse(node, axis, &joined));
    return onnx_node_set_output(node, parts->state_count + index, joined);
}

Error *onnx_convert_scan(const OnnxNode *node) {
    ScanParts parts;
    IrLoop loop;
    OnnxScope scope;
    TRY(read_scan(node, &parts));
    const char *name = node->proto->name && node->proto->name[0] ? node->proto->name : "scan";
    TRY(ir_build_loop(onnx_at(node), name, parts.length, NULL,
        parts.state_count + parts.output_count, parts.initial, NULL, &loop));
    TRY(onnx_scope_init(&scope, node->scope, loop.body));
    Error *error = fill_scan(node, &parts, &loop, &scope);
    onnx_scope_deinit(&scope);
    TRY_WRAP(error, "body");
    for (uint32_t i = 0; i < parts.state_count; i++)
        TRY(onnx_node_set_output(node, i, loop.results[i]));
    for (uint32_t i = 0; i < parts.output_count; i++) TRY(join_output(node, &parts, &loop, i));
    return NULL;
}
