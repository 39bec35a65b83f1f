/* If and Loop: their graphs become blocks and local tail-recursive functions that capture outer
 * values. */
#include <string.h>

#include "compiler/frontend/base/onnx_internal.h"

/* Fills a block with a graph of a node. The block's results are the graph's outputs. */
static Error *fill_block(
    const OnnxNode *node, const Onnx__GraphProto *graph, IrBlock *block, uint32_t result_count) {
    if (graph->n_output != result_count)
        FAIL(INVALID, "a branch with %zu outputs, the node has %u", graph->n_output, result_count);
    if (graph->n_input > 0) FAIL(INVALID, "a branch with inputs");
    OnnxScope scope;
    IrVariable **results = NULL;
    TRY(onnx_scope_init(&scope, node->scope, block));
    Error *error = onnx_graph_body(node->import, &scope, graph, &results);
    onnx_scope_deinit(&scope);
    if (error) return error;
    return ir_block_set_results(block, result_count, results);
}

/* The kind of an If's result: an optional if either branch gives one, otherwise a list if either
 * gives one. Tensor types are left to shape inference. */
static IrTypeKind branches_kind(IrTypeKind a, IrTypeKind b) {
    if (a == IR_TYPE_OPTIONAL || b == IR_TYPE_OPTIONAL) return IR_TYPE_OPTIONAL;
    return a == IR_TYPE_LIST || b == IR_TYPE_LIST ? IR_TYPE_LIST : IR_TYPE_UNKNOWN;
}

Error *onnx_convert_if(const OnnxNode *node) {
    const Onnx__GraphProto *then_graph, *else_graph;
    IrBlock *then_block, *else_block;
    IrVariable **results, *condition = onnx_input(node, 0);
    if (!condition) FAIL(INVALID, "the condition is missing");
    TRY(onnx_attribute_graph(node, "then_branch", &then_graph));
    TRY(onnx_attribute_graph(node, "else_branch", &else_graph));
    uint32_t count = (uint32_t)node->proto->n_output;
    TRY(ir_build_if(onnx_at(node), condition, count, &then_block, &else_block, &results));
    TRY_WRAP(fill_block(node, then_graph, then_block, count), "then_branch");
    TRY_WRAP(fill_block(node, else_graph, else_block, count), "else_branch");
    for (uint32_t i = 0; i < count; i++) {
        results[i]->type.kind =
            branches_kind(then_block->results[i]->type.kind, else_block->results[i]->type.kind);
        TRY(onnx_node_set_output(node, i, results[i]));
    }
    return NULL;
}

/* ONNX requires a scalar. A known other rank is refused here rather than in the middle of a run. */
static Error *check_scalar(const IrVariable *variable, const char *what) {
    const IrType *type = &variable->type;
    const Tensor *tensor = ir_variable_tensor(variable);
    uint32_t rank = tensor ? tensor->shape.rank : type->rank;
    if (tensor || (type->kind == IR_TYPE_TENSOR && type->rank_known))
        if (rank != 0) FAIL(INVALID, "%s must be a scalar, it has rank %u", what, rank);
    return NULL;
}

/* Emits a check of a computed condition's rank: a branch that fails at run time unless the rank is
 * 0. If shape inference finds the rank, constant folding removes the check. */
static Error *check_scalar_at_run_time(const OnnxNode *node, IrCursor at, IrVariable *condition) {
    IrVariable *shape, *rank, *none, *is_scalar, **unused;
    IrBlock *then_block, *else_block;
    if (condition->type.kind == IR_TYPE_TENSOR && condition->type.rank_known) return NULL;
    TRY(ir_build_shape_of(at, condition, &shape));
    TRY(ir_build_shape_of(at, shape, &rank));
    TRY(ir_build_read_scalar(at, rank, IR_TYPE_INT, &rank));
    TRY(ir_constant_int(node->import->module, 0, &none));
    TRY(ir_build_int_op(at, INT_OP_EQ, rank, none, &is_scalar));
    TRY(ir_build_if(at, is_scalar, 0, &then_block, &else_block, &unused));
    TRY(ir_block_set_results(then_block, 0, NULL));
    TRY(ir_build_fatal(
        ir_at_end(else_block), "Loop: the loop's condition must be a scalar", 0, &unused));
    return ir_block_set_results(else_block, 0, NULL);
}

/* Checks the declared type of a body's output, for conditions that are computed. */
static Error *check_declared_scalar(const Onnx__ValueInfoProto *info, IrModule *module) {
    IrType type;
    TRY(onnx_graph_type(module, info, &type));
    if (type.rank_known && type.rank != 0)
        FAIL(INVALID, "the loop's condition %s must be a scalar, it has rank %u",
            info->name ? info->name : "", type.rank);
    return NULL;
}

typedef struct LoopParts {
    const Onnx__GraphProto *body;
    uint32_t carried_count, scan_count;
    IrVariable *trip_count, *condition;
    IrVariable **initial; /* carried values, then an empty list for each scan output */
} LoopParts;

static Error *read_loop(const OnnxNode *node, LoopParts *parts) {
    *parts = (LoopParts){0};
    TRY(onnx_attribute_graph(node, "body", &parts->body));
    const Onnx__GraphProto *body = parts->body;
    uint32_t input_count = (uint32_t)node->proto->n_input;
    parts->carried_count = input_count > 2 ? input_count - 2 : 0;
    if (body->n_input != (size_t)parts->carried_count + 2)
        FAIL(INVALID, "the body has %zu inputs; %u are wanted", body->n_input,
            parts->carried_count + 2);
    if (body->n_output < (size_t)parts->carried_count + 1 || body->n_output > IR_OPERANDS_MAX)
        FAIL(INVALID, "the body has %zu outputs; at least %u are wanted", body->n_output,
            parts->carried_count + 1);
    parts->scan_count = (uint32_t)body->n_output - 1 - parts->carried_count;
    parts->condition = onnx_input(node, 1);
    if (parts->condition) {
        TRY(check_scalar(parts->condition, "the loop's condition"));
        TRY(check_scalar_at_run_time(node, onnx_at(node), parts->condition));
        TRY(check_declared_scalar(body->output[0], node->import->module));
    }
    IrVariable *trip_count = onnx_input(node, 0);
    if (trip_count)
        TRY(ir_build_read_scalar(onnx_at(node), trip_count, IR_TYPE_INT, &parts->trip_count));
    void *memory;
    TRY(arena_alloc(&node->import->module->arena, parts->carried_count + parts->scan_count,
        sizeof(IrVariable *), &memory));
    parts->initial = memory;
    for (uint32_t i = 0; i < parts->carried_count; i++) {
        parts->initial[i] = onnx_input(node, i + 2);
        if (!parts->initial[i]) FAIL(INVALID, "input %u is missing", i + 2);
    }
    for (uint32_t i = 0; i < parts->scan_count; i++)
        TRY(ir_build_list(onnx_at(node), 0, NULL, &parts->initial[parts->carried_count + i]));
    return NULL;
}

static const char *input_name(const Onnx__GraphProto *graph, size_t index) {
    return graph->input[index]->name ? graph->input[index]->name : "";
}

/* Binds the body's inputs: iteration number, condition (true, since otherwise the round would not
 * run), carried values. */
static Error *bind_loop_inputs(
    const OnnxNode *node, const LoopParts *parts, const IrLoop *loop, OnnxScope *scope) {
    IrVariable *number, *yes, *condition;
    IrCursor at = ir_at_end(loop->body);
    TRY(ir_build_make_tensor(at, loop->counter, DTYPE_INT64, &number));
    TRY(ir_constant_bool(node->import->module, true, &yes));
    TRY(ir_build_make_tensor(at, yes, DTYPE_BOOL, &condition));
    TRY(onnx_scope_set(scope, input_name(parts->body, 0), number));
    TRY(onnx_scope_set(scope, input_name(parts->body, 1), condition));
    for (uint32_t i = 0; i < parts->carried_count; i++)
        TRY(onnx_scope_set(scope, input_name(parts->body, i + 2), loop->carried[i]));
    return NULL;
}

static Error *fill_loop(
    const OnnxNode *node, const LoopParts *parts, IrLoop *loop, OnnxScope *scope) {
    IrVariable **results;
    TRY(bind_loop_inputs(node, parts, loop, scope));
    TRY(onnx_graph_body(node->import, scope, parts->body, &results));
    for (uint32_t i = 0; i < parts->scan_count; i++) {
        uint32_t at = parts->carried_count + i;
        TRY(ir_build_list_append(
            ir_at_end(loop->body), loop->carried[at], results[1 + at], &results[1 + at]));
    }
    if (parts->condition) {
        TRY(check_scalar(results[0], "the loop's condition"));
        TRY(check_scalar_at_run_time(node, ir_at_end(loop->body), results[0]));
    }
    return ir_build_loop_end(loop, parts->condition ? results[0] : NULL, results + 1);
}

Error *onnx_convert_loop(const OnnxNode *node) {
    LoopParts parts;
    IrLoop loop;
    OnnxScope scope;
    TRY(read_loop(node, &parts));
    const char *name = node->proto->name && node->proto->name[0] ? node->proto->name : "loop";
    TRY(ir_build_loop(onnx_at(node), name, parts.trip_count, parts.condition,
        parts.carried_count + parts.scan_count, parts.initial, NULL, &loop));
    TRY(onnx_scope_init(&scope, node->scope, loop.body));
    Error *error = fill_loop(node, &parts, &loop, &scope);
    onnx_scope_deinit(&scope);
    TRY_WRAP(error, "body");
    for (uint32_t i = 0; i < parts.carried_count; i++)
        TRY(onnx_node_set_output(node, i, loop.results[i]));
    for (uint32_t i = 0; i < parts.scan_count; i++) {
        IrVariable *joined;
        IrType declared;
        uint32_t at = parts.carried_count + i;
        TRY(onnx_graph_type(node->import->module, parts.body->output[at + 1], &declared));
        TRY(ir_build_list_concat_declared(
            onnx_at(node), loop.results[at], loop.iterations, 0, true, &declared, &joined));
        TRY(onnx_node_set_output(node, at, joined));
    }
    return NULL;
}
