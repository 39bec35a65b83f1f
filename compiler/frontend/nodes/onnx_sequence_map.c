/* SequenceMap: a loop over one or several lists of one length. Each round makes one item of every
 * output. */
#include "compiler/frontend/base/onnx_internal.h"

/* Item number `counter` of a sequence input; a tensor input goes to each round unchanged. */
static Error *map_item(const OnnxNode *node, const IrLoop *loop, uint32_t index, IrVariable **out) {
    IrVariable *input = node->inputs[index];
    if (index > 0 && input->type.kind == IR_TYPE_TENSOR) {
        *out = input;
        return NULL;
    }
    if (index > 0 && input->type.kind != IR_TYPE_LIST)
        FAIL(UNSUPPORTED, "input %u: whether it is a sequence or a tensor is not told", index);
    IrVariable *arguments[2] = {input, loop->counter};
    return ir_build_call_packed(ir_at_end(loop->body), IR_PACKED_SEQUENCE_AT, arguments, out);
}

static Error *fill_map(
    const OnnxNode *node, const Onnx__GraphProto *body, IrLoop *loop, OnnxScope *scope) {
    IrVariable **results;
    for (uint32_t i = 0; i < node->input_count; i++) {
        IrVariable *item;
        TRY(map_item(node, loop, i, &item));
        TRY(onnx_scope_set(scope, body->input[i]->name ? body->input[i]->name : "", item));
    }
    TRY(onnx_graph_body(node->import, scope, body, &results));
    for (uint32_t i = 0; i < loop->carried_count; i++)
        TRY(ir_build_list_append(ir_at_end(loop->body), loop->carried[i], results[i], &results[i]));
    return ir_build_loop_end(loop, NULL, results);
}

static Error *check_map(const OnnxNode *node, const Onnx__GraphProto *body) {
    for (uint32_t i = 0; i < node->input_count; i++)
        if (!node->inputs[i]) FAIL(INVALID, "input %u is missing", i);
    if (node->input_count == 0) FAIL(INVALID, "input 0 is missing");
    if (body->n_input != node->input_count || body->n_output != node->proto->n_output)
        FAIL(INVALID, "the body has %zu inputs and %zu outputs for %u and %zu", body->n_input,
            body->n_output, node->input_count, node->proto->n_output);
    if (body->n_output > IR_OPERANDS_MAX - 2) FAIL(UNSUPPORTED, "%zu outputs", body->n_output);
    return NULL;
}

Error *onnx_convert_sequence_map(const OnnxNode *node) {
    const Onnx__GraphProto *body;
    IrVariable *count, **initial;
    IrLoop loop;
    OnnxScope scope;
    void *memory;
    TRY(onnx_attribute_graph(node, "body", &body));
    TRY(check_map(node, body));
    uint32_t output_count = (uint32_t)body->n_output;
    TRY(ir_build_call_packed(onnx_at(node), IR_PACKED_LIST_SIZE, node->inputs, &count));
    TRY(arena_alloc(&node->import->module->arena, output_count, sizeof(IrVariable *), &memory));
    initial = memory;
    for (uint32_t i = 0; i < output_count; i++)
        TRY(ir_build_list(onnx_at(node), 0, NULL, &initial[i]));
    const char *name = node->proto->name && node->proto->name[0] ? node->proto->name : "map";
    TRY(ir_build_loop(onnx_at(node), name, count, NULL, output_count, initial, NULL, &loop));
    TRY(onnx_scope_init(&scope, node->scope, loop.body));
    Error *error = fill_map(node, body, &loop, &scope);
    onnx_scope_deinit(&scope);
    TRY_WRAP(error, "body");
    for (uint32_t i = 0; i < output_count; i++) TRY(onnx_node_set_output(node, i, loop.results[i]));
    return NULL;
}
