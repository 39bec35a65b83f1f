#include "compiler/relay/relay_lower.h"

#include "compiler/relay/relay_build_internal.h"
#include "compiler/relay/relay_lower_internal.h"

Error *relay_lower_declare(RelayLower *lower, const char *name, const IrBlock *outer,
    const RelayExpr *function, IrFunction **out) {
    IrType result;
    IrFunction *made;
    TRY(ir_function_create(lower->module, name, false, outer, &made));
    TRY(relay_heap_begin(lower, made));
    for (uint32_t i = 0; i < function->parameter_count; i++) {
        RelayLocal *parameter = function->parameters[i];
        IrType type;
        relay_ir_type(parameter->type, &type);
        TRY(ir_function_add_parameter(made, parameter->name, &type, &parameter->variable));
    }
    relay_ir_type(function->items[0]->type, &result);
    TRY(relay_heap_declare(lower, made, &result));
    *out = made;
    return NULL;
}

Error *relay_lower_body(RelayLower *lower, const RelayExpr *function, IrFunction *made) {
    IrType type;
    relay_ir_type(function->items[0]->type, &type);
    return relay_heap_body(lower, made, function->items[0], &type);
}

static Error *lower_local(IrBlock *block, const RelayExpr *expr, IrVariable **out) {
    RelayLocal *local = expr->local;
    if (local->function) return ir_build_closure(ir_at_end(block), local->function, out);
    if (!local->variable)
        FAIL(INVALID, RELAY_AT ": %%%s has no value yet", RELAY_PLACE(expr->place), expr->name);
    *out = local->variable;
    return NULL;
}

static Error *lower_items(
    RelayLower *lower, IrBlock *block, const RelayExpr *expr, uint32_t first, IrVariable ***out) {
    TRY(relay_new(lower->program, expr->count, sizeof(IrVariable *), out));
    for (uint32_t i = first; i < expr->count; i++)
        TRY(relay_lower_expr(lower, block, expr->items[i], &(*out)[i - first]));
    return NULL;
}

/* The function that a callee names; NULL: it is a value. */
static IrFunction *named_function(const RelayExpr *callee) {
    if (callee->kind == RELAY_GLOBAL) return callee->global->made;
    return callee->kind == RELAY_LOCAL ? callee->local->function : NULL;
}

static Error *lower_call(
    RelayLower *lower, IrBlock *block, const RelayExpr *call, IrVariable **out) {
    const RelayExpr *callee = call->items[0];
    const uint32_t count = call->count - 1;
    IrVariable **arguments;
    IrFunction *named = named_function(callee);
    const bool value = callee->kind != RELAY_NAME && !named;
    TRY(lower_items(lower, block, call, value ? 0 : 1, &arguments));
    const IrCursor at = ir_at_end(block);
    if (call->operator_row) return relay_operator_build(lower->program, at, call, arguments, out);
    if (call->constructor)
        return ir_build_construct(at, call->constructor->made, count, arguments, out);
    if (call->reference != RELAY_REFERENCE_NONE)
        return relay_heap_reference(lower, block, call, arguments, out);
    return relay_heap_call(lower, block, named, value ? count + 1 : count, arguments, out);
}

static Error *lower_function(RelayLower *lower, IrBlock *block, const char *name,
    const RelayExpr *function, RelayLocal *local, IrFunction **out) {
    TRY(relay_lower_declare(lower, name, block, function, out));
    if (local) local->function = *out;
    return relay_lower_body(lower, function, *out);
}

static Error *lower_block(
    RelayLower *lower, IrBlock *block, const RelayExpr *expr, IrVariable **out) {
    for (uint32_t i = 0; i < expr->binding_count; i++) {
        const RelayBinding *binding = &expr->bindings[i];
        RelayLocal *local = binding->local;
        IrFunction *made;
        if (binding->value->kind == RELAY_FUNCTION)
            TRY(lower_function(lower, block, local->name, binding->value, local, &made));
        else
            TRY(relay_lower_expr(lower, block, binding->value, &local->variable));
    }
    return relay_lower_expr(lower, block, expr->items[0], out);
}

static Error *lower_if(RelayLower *lower, IrBlock *block, const RelayExpr *expr, IrVariable **out) {
    IrVariable *condition, **results, *made;
    IrBlock *blocks[2];
    TRY(relay_lower_expr(lower, block, expr->items[0], &condition));
    TRY(ir_build_if(
        ir_at_end(block), condition, relay_heap_results(lower), &blocks[0], &blocks[1], &results));
    IrVariable *before = lower->heap;
    for (uint32_t i = 0; i < 2; i++) {
        TRY(relay_lower_expr(lower, blocks[i], expr->items[1 + i], &made));
        TRY(relay_heap_end_branch(lower, blocks[i], made, before));
    }
    *out = relay_heap_join(lower, results);
    return NULL;
}

static Error *lower_kind(
    RelayLower *lower, IrBlock *block, const RelayExpr *expr, IrVariable **out) {
    IrVariable **items;
    IrFunction *made;
    switch (expr->kind) {
    case RELAY_LOCAL:
        return lower_local(block, expr, out);
    case RELAY_GLOBAL:
        return ir_build_closure(ir_at_end(block), expr->global->made, out);
    case RELAY_CONSTANT:
        return ir_constant_tensor(lower->module, expr->tensor, out);
    case RELAY_TUPLE:
        TRY(lower_items(lower, block, expr, 0, &items));
        return ir_build_construct(ir_at_end(block), NULL, expr->count, items, out);
    case RELAY_PROJECT:
        TRY(lower_items(lower, block, expr, 0, &items));
        return ir_build_get_field(ir_at_end(block), items[0], expr->index, out);
    case RELAY_CALL:
        return lower_call(lower, block, expr, out);
    case RELAY_BLOCK:
        return lower_block(lower, block, expr, out);
    case RELAY_IF:
        return lower_if(lower, block, expr, out);
    case RELAY_FUNCTION:
        TRY(lower_function(lower, block, "fn", expr, NULL, &made));
        return ir_build_closure(ir_at_end(block), made, out);
    case RELAY_MATCH:
        return relay_lower_match(lower, block, expr, out);
    case RELAY_NAME:
        break;
    }
    FAIL(INTERNAL, "an expression of kind %d is left", (int)expr->kind);
}

Error *relay_lower_expr(
    RelayLower *lower, IrBlock *block, const RelayExpr *expr, IrVariable **out) {
    Error *error = lower_kind(lower, block, expr, out);
    /* limits of the IR know no places */
    if (error && error_code(error) == ERROR_EXHAUSTED)
        return error_recode(error_wrap(error, RELAY_AT, RELAY_PLACE(expr->place)), ERROR_TOO_LARGE);
    TRY(error);
    if ((*out)->type.kind == IR_TYPE_UNKNOWN && !(*out)->constant)
        relay_ir_type(expr->type, &(*out)->type);
    return NULL;
}

static Error *make_constructors(RelayLower *lower) {
    const RelayProgram *program = lower->program;
    for (size_t i = 0; i < program->data_count; i++) {
        const RelayData *data = program->data_list[i];
        for (uint32_t k = 0; data->wanted && k < data->constructor_count; k++) {
            RelayConstructor *made = data->constructors[k];
            TRY(ir_constructor_create(
                lower->module, data->name, made->name, made->field_count, &made->made));
        }
    }
    return NULL;
}

static bool is_users(const RelayGlobal *global) { return !global->place.source; }

/* main alone, or all functions that have ports. */
static Error *export_globals(RelayLower *lower) {
    const RelayProgram *program = lower->program;
    const RelayGlobal *entry = name_map_find(program->globals, "main");
    size_t exported = 0;
    bool fits;
    if (entry) return relay_lower_export(lower, entry, true, &fits);
    for (size_t i = 0; i < program->global_count; i++) {
        const RelayGlobal *global = program->global_list[i];
        if (!is_users(global)) continue;
        TRY(relay_lower_export(lower, global, false, &fits));
        exported += fits;
    }
    if (exported == 0)
        FAIL(INVALID, "the program has no @main, and no function of tensors to call instead");
    return NULL;
}

Error *relay_lower(RelayProgram *program, IrModule *module) {
    RelayLower lower = {.program = program, .module = module};
    TRY(make_constructors(&lower));
    for (size_t i = 0; i < program->global_count; i++) {
        RelayGlobal *global = program->global_list[i];
        if (!global->wanted) continue;
        TRY(relay_lower_declare(&lower, global->name, NULL, global->function, &global->made));
    }
    TRY(export_globals(&lower));
    for (size_t i = 0; i < program->global_count; i++) {
        const RelayGlobal *global = program->global_list[i];
        if (global->wanted) TRY(relay_lower_body(&lower, global->function, global->made));
    }
    return NULL;
}
