/* Scan: a loop over slices of its scan inputs, joining its scan outputs. */
#include "compiler/frontend/nodes/onnx_scan.h"

Error *onnx_scan_list_entry(
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

Error *onnx_scan_length(
    const OnnxNode *node, IrBlock *block, IrVariable *tensor, int64_t axis, IrVariable **out) {
    IrVariable *shape, *where, *length;
    TRY(ir_build_shape_of(ir_at_end(block), tensor, &shape));
    TRY(onnx_constant_int0(node, axis, &where));
    TRY(ir_build_simple(ir_at_end(block), "Gather", NULL, shape, where, NULL, &length));
    return ir_build_read_scalar(ir_at_end(block), length, IR_TYPE_INT, out);
}

Error *onnx_scan_assert(IrBlock *block, IrVariable *condition, const char *text) {
    IrBlock *then_block, *else_block;
    IrVariable **unused;
    TRY(ir_build_if(ir_at_end(block), condition, 0, &then_block, &else_block, &unused));
    TRY(ir_block_set_results(then_block, 0, NULL));
    TRY(ir_build_fatal(ir_at_end(else_block), text, 0, &unused));
    return ir_block_set_results(else_block, 0, NULL);
}

static Error *copy_inputs(const OnnxNode *node, uint32_t first, uint32_t count, IrVariable ***out) {
    void *memory;
    TRY(arena_alloc(&node->import->module->arena, count, sizeof(IrVariable *), &memory));
    *out = memory;
    for (uint32_t i = 0; i < count; i++) {
        (*out)[i] = onnx_input(node, first + i);
        if (!(*out)[i]) FAIL(INVALID, "input %u is missing", first + i);
    }
    return NULL;
}

Error *onnx_scan_read(const OnnxNode *node, uint32_t first, ScanParts *out) {
    int64_t scan_inputs;
    ScanParts parts = {.directions = "scan_input_directions", .block = node->scope->block};
    uint32_t count = node->input_count > first ? node->input_count - first : 0;
    TRY(onnx_attribute_graph(node, "body", &parts.body));
    TRY(onnx_attribute_int(node, "num_scan_inputs", 0, &scan_inputs));
    if (scan_inputs < 1 || scan_inputs > count)
        FAIL(INVALID, "num_scan_inputs is %lld, the node has %u inputs", (long long)scan_inputs,
            count);
    parts.input_count = (uint32_t)scan_inputs;
    parts.state_count = count - parts.input_count;
    if (parts.body->n_input != count || parts.body->n_output < parts.state_count ||
        parts.body->n_output > IR_OPERANDS_MAX)
        FAIL(INVALID, "the body has %zu inputs and %zu outputs for %u inputs, %u of them scanned",
            parts.body->n_input, parts.body->n_output, count, parts.input_count);
    parts.output_count = (uint32_t)parts.body->n_output - parts.state_count;
    TRY(copy_inputs(node, first, parts.state_count, &parts.states));
    TRY(copy_inputs(node, first + parts.state_count, parts.input_count, &parts.inputs));
    *out = parts;
    return NULL;
}

static Error *input_length(
    const OnnxNode *node, const ScanParts *parts, uint32_t index, IrVariable **out) {
    int64_t axis;
    TRY(onnx_scan_list_entry(node, "scan_input_axes", index, parts->input_count, &axis));
    return onnx_scan_length(node, parts->block, parts->inputs[index], axis, out);
}

/* Reads the common length. Scan inputs of different lengths fail at run time, before the first
 * round. */
static Error *read_lengths(const OnnxNode *node, ScanParts *parts) {
    TRY(input_length(node, parts, 0, &parts->length));
    for (uint32_t i = 1; i < parts->input_count; i++) {
        IrVariable *length, *same;
        TRY(input_length(node, parts, i, &length));
        TRY(ir_build_int_op(ir_at_end(parts->block), INT_OP_EQ, length, parts->length, &same));
        TRY(onnx_scan_assert(parts->block, same, "Scan: its scan inputs have different lengths"));
    }
    return NULL;
}

static Error *is_backwards(
    const OnnxNode *node, const char *name, uint32_t index, uint32_t count, bool *out) {
    int64_t direction;
    TRY(onnx_scan_list_entry(node, name, index, count, &direction));
    if (direction != 0 && direction != 1)
        FAIL(INVALID, "attribute %s: %lld; 0 and 1 are directions", name, (long long)direction);
    *out = direction == 1;
    return NULL;
}

/* Slice number `counter` of scan input `index`, from the front or the back. */
static Error *input_slice(const OnnxNode *node, const ScanParts *parts, const IrLoop *loop,
    uint32_t index, IrVariable *whole, IrVariable **out) {
    int64_t axis;
    bool backwards;
    IrCursor at = ir_at_end(loop->body);
    IrVariable *number = loop->counter, *one, *where;
    TRY(onnx_scan_list_entry(node, "scan_input_axes", index, parts->input_count, &axis));
    TRY(is_backwards(node, parts->directions, index, parts->input_count, &backwards));
    if (backwards) {
        TRY(ir_constant_int(node->import->module, 1, &one));
        TRY(ir_build_int_op(at, INT_OP_SUB, parts->length, number, &number));
        TRY(ir_build_int_op(at, INT_OP_SUB, number, one, &number));
    }
    TRY(ir_build_make_tensor(at, number, DTYPE_INT64, &where));
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", axis));
    return ir_build_simple(at, "Gather", attributes, whole, where, NULL, out);
}

static Error *fill_scan(
    const OnnxNode *node, const ScanParts *parts, IrLoop *loop, OnnxScope *scope) {
    IrVariable **results;
    for (uint32_t i = 0; i < parts->state_count + parts->input_count; i++) {
        const char *name = parts->body->input[i]->name ? parts->body->input[i]->name : "";
        IrVariable *value;
        if (i < parts->state_count)
            value = loop->carried[i];
        else
            TRY(input_slice(node, parts, loop, i - parts->state_count,
                parts->inputs[i - parts->state_count], &value));
        TRY(onnx_scope_set(scope, name, value));
    }
    for (uint32_t i = 0; i < parts->product_count; i++) {
        const ScanProduct *product = &parts->products[i];
        IrVariable *value;
        TRY(input_slice(node, parts, loop, product->input, product->whole, &value));
        TRY(onnx_scope_set(scope, product->name, value));
    }
    TRY(onnx_graph_body(node->import, scope, parts->body, &results));
    for (uint32_t i = parts->state_count; i < parts->state_count + parts->output_count; i++)
        TRY(ir_build_list_append(ir_at_end(loop->body), loop->carried[i], results[i], &results[i]));
    return ir_build_loop_end(loop, NULL, results);
}

/* Slice with step -1 over the whole axis. */
static Error *reverse(
    const OnnxNode *node, const ScanParts *parts, int64_t axis, IrVariable **inout) {
    static const int64_t start = -1, end = INT64_MIN, step = -1;
    IrVariable *inputs[5] = {*inout}, **results;
    TRY(onnx_constant_ints(node, &start, 1, &inputs[1]));
    TRY(onnx_constant_ints(node, &end, 1, &inputs[2]));
    TRY(onnx_constant_ints(node, &axis, 1, &inputs[3]));
    TRY(onnx_constant_ints(node, &step, 1, &inputs[4]));
    TRY(ir_build_operator(ir_at_end(parts->block), "Slice", NULL, 5, inputs, 1, &results));
    *inout = results[0];
    return NULL;
}

static Error *join_output(const OnnxNode *node, const ScanParts *parts, const IrLoop *loop,
    uint32_t index, IrVariable **out) {
    int64_t axis;
    bool backwards;
    TRY(onnx_scan_list_entry(node, "scan_output_axes", index, parts->output_count, &axis));
    TRY(is_backwards(node, "scan_output_directions", index, parts->output_count, &backwards));
    const uint32_t at = parts->state_count + index;
    IrType declared;
    TRY(onnx_graph_type(node->import->module, parts->body->output[at], &declared));
    TRY(ir_build_list_concat_declared(
        ir_at_end(parts->block), loop->results[at], loop->iterations, axis, true, &declared, out));
    return backwards ? reverse(node, parts, axis, out) : NULL;
}

/* The loop's first carried values: the states, then an empty list for each scan output. */
static Error *carried_values(const OnnxNode *node, const ScanParts *parts, IrVariable ***out) {
    void *memory;
    uint32_t count = parts->state_count + parts->output_count;
    TRY(arena_alloc(&node->import->module->arena, count, sizeof(IrVariable *), &memory));
    *out = memory;
    for (uint32_t i = 0; i < count; i++) {
        if (i < parts->state_count)
            (*out)[i] = parts->states[i];
        else
            TRY(ir_build_list(ir_at_end(parts->block), 0, NULL, &(*out)[i]));
    }
    return NULL;
}

Error *onnx_scan_run(const OnnxNode *node, const ScanParts *whole, IrVariable **out_results) {
    IrLoop loop;
    OnnxScope scope;
    IrVariable **initial;
    ScanParts taken = *whole;
    const ScanParts *parts = &taken;
    TRY(onnx_scan_take_products(node, &taken));
    TRY(carried_values(node, parts, &initial));
    const char *name = node->proto->name && node->proto->name[0] ? node->proto->name : "scan";
    TRY(ir_build_loop(ir_at_end(parts->block), name, parts->length, NULL,
        parts->state_count + parts->output_count, initial, NULL, &loop));
    TRY(onnx_scope_init(&scope, node->scope, loop.body));
    Error *error = fill_scan(node, parts, &loop, &scope);
    onnx_scope_deinit(&scope);
    TRY_WRAP(error, "body");
    for (uint32_t i = 0; i < parts->state_count; i++) out_results[i] = loop.results[i];
    for (uint32_t i = 0; i < parts->output_count; i++)
        TRY(join_output(node, parts, &loop, i, &out_results[parts->state_count + i]));
    return NULL;
}

Error *onnx_convert_scan(const OnnxNode *node) {
    ScanParts parts;
    void *memory;
    if (node->scope->opset < 9) return onnx_scan_convert_batched(node);
    TRY(onnx_scan_read(node, 0, &parts));
    TRY(read_lengths(node, &parts));
    uint32_t count = parts.state_count + parts.output_count;
    TRY(arena_alloc(&node->import->module->arena, count, sizeof(IrVariable *), &memory));
    IrVariable **results = memory;
    TRY(onnx_scan_run(node, &parts, results));
    for (uint32_t i = 0; i < count; i++) TRY(onnx_node_set_output(node, i, results[i]));
    return NULL;
}
