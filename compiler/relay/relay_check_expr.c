/* The types of expressions. */
#include <string.h>

#include "compiler/relay/relay_check_internal.h"

Error *relay_check_fits(
    RelayCheck *check, RelayPlace place, RelayType *there, RelayType *wanted, const char *what) {
    bool fit;
    check->program->has_circle = false;
    TRY_WRAP(relay_type_unify(check->program, there, wanted, &fit), RELAY_AT, RELAY_PLACE(place));
    if (fit) return NULL;
    if (check->program->has_circle)
        FAIL(INVALID, RELAY_AT ": %s would be of a type that holds itself", RELAY_PLACE(place),
            what);
    TextBuilder OWN_TEXT(a) = {0};
    TextBuilder OWN_TEXT(b) = {0};
    relay_type_print(there, &a);
    relay_type_print(wanted, &b);
    FAIL(INVALID, RELAY_AT ": %s is of type %s, not %s", RELAY_PLACE(place), what,
        text_builder_get(&a), text_builder_get(&b));
}

static Error *no_variable(const RelayCheck *check, const RelayExpr *expr) {
    Nearest nearest = nearest_to(expr->name);
    for (size_t i = 0; i < check->shadow_count; i++)
        nearest_try(&nearest, check->shadows[i].local->name);
    FAIL(INVALID, RELAY_AT ": there is no variable %%%s" NEAREST_TEXT, RELAY_PLACE(expr->place),
        expr->name, NEAREST_NAME(nearest, "%"));
}

static Error *no_function(const RelayCheck *check, const RelayExpr *expr) {
    Nearest nearest = nearest_to(expr->name);
    for (size_t i = 0; i < check->program->global_count; i++)
        nearest_try(&nearest, check->program->global_list[i]->name);
    FAIL(INVALID, RELAY_AT ": there is no function @%s" NEAREST_TEXT, RELAY_PLACE(expr->place),
        expr->name, NEAREST_NAME(nearest, "@"));
}

static Error *check_local(RelayCheck *check, RelayExpr *expr) {
    RelayLocal *local = relay_scope_find(check, expr->name);
    if (!local) return no_variable(check, expr);
    expr->local = local;
    return relay_type_instantiate(
        check->program, local->type, local->parameter_count, local->parameters, &expr->type);
}

static Error *check_global(RelayCheck *check, RelayExpr *expr) {
    RelayGlobal *global = name_map_find(check->program->globals, expr->name);
    if (!global) return no_function(check, expr);
    TRY(relay_want_global(check, global));
    expr->global = global;
    return relay_type_instantiate(check->program, global->type,
        global->function->type_parameter_count, global->function->type_parameters, &expr->type);
}

static Error *check_constant(RelayCheck *check, RelayExpr *expr) {
    const RelayProgram *program = check->program;
    if (!expr->tensor && expr->index >= program->meta_count)
        FAIL(INVALID, RELAY_AT ": the metadata has %zu constants, there is no number %u",
            RELAY_PLACE(expr->place), program->meta_count, expr->index);
    if (!expr->tensor) expr->tensor = program->meta[expr->index];
    const Shape *shape = &expr->tensor->shape;
    return relay_type_tensor(
        check->program, expr->tensor->dtype, shape->rank, shape->dims, &expr->type);
}

static Error *check_tuple(RelayCheck *check, RelayExpr *expr) {
    RelayType **types;
    TRY(relay_new(check->program, expr->count, sizeof *types, &types));
    for (uint32_t i = 0; i < expr->count; i++) {
        TRY(relay_check_expr(check, expr->items[i]));
        types[i] = expr->items[i]->type;
    }
    return relay_type_of(check->program, RELAY_TYPE_TUPLE, NULL, expr->count, types, &expr->type);
}

static Error *check_project(RelayCheck *check, RelayExpr *expr) {
    TRY(relay_check_expr(check, expr->items[0]));
    /* an operator before may have waited for what is known now */
    if (relay_type_find(expr->items[0]->type)->kind == RELAY_TYPE_VARIABLE)
        TRY(relay_check_waiting(check, false));
    const RelayType *type = relay_type_find(expr->items[0]->type);
    TextBuilder OWN_TEXT(text) = {0};
    relay_type_print(type, &text);
    if (type->kind == RELAY_TYPE_VARIABLE)
        FAIL(INVALID,
            RELAY_AT
            ": the type of the tuple is not known here; write it where its variable is made",
            RELAY_PLACE(expr->place));
    if (type->kind != RELAY_TYPE_TUPLE || expr->index >= type->count)
        FAIL(INVALID, RELAY_AT ": a value of type %s has no field %u", RELAY_PLACE(expr->place),
            text_builder_get(&text), expr->index);
    expr->type = type->items[expr->index];
    return NULL;
}

static Error *check_if(RelayCheck *check, RelayExpr *expr) {
    RelayType *boolean;
    for (uint32_t i = 0; i < 3; i++) TRY(relay_check_expr(check, expr->items[i]));
    TRY(relay_type_tensor(check->program, DTYPE_BOOL, 0, NULL, &boolean));
    TRY(relay_check_fits(
        check, expr->items[0]->place, expr->items[0]->type, boolean, "the condition"));
    /* the variable keeps what the types of both have in common */
    TRY(relay_type_make(check->program, RELAY_TYPE_VARIABLE, &expr->type));
    TRY(relay_check_fits(check, expr->items[1]->place, expr->items[1]->type, expr->type, ""));
    return relay_check_fits(
        check, expr->items[2]->place, expr->items[2]->type, expr->type, "the branch behind else");
}

Error *relay_declare_function(RelayCheck *check, RelayExpr *function) {
    RelayProgram *program = check->program;
    RelayType **items;
    const uint32_t count = function->parameter_count;
    TRY(relay_push_type_names(check, function->place, function->type_parameter_count,
        function->type_parameter_names, &function->type_parameters));
    TRY(relay_new(program, count + 1, sizeof *items, &items));
    for (uint32_t i = 0; i < count; i++) {
        RelayLocal *parameter = function->parameters[i];
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(function->parameters[k]->name, parameter->name) == 0)
                FAIL(INVALID, RELAY_AT ": two parameters are named %%%s",
                    RELAY_PLACE(parameter->place), parameter->name);
        TRY(relay_resolve_type(check, parameter->type_text, &parameter->type));
        items[i] = parameter->type;
    }
    TRY(relay_resolve_type(check, function->result_text, &items[count]));
    return relay_type_of(program, RELAY_TYPE_FUNCTION, NULL, count + 1, items, &function->type);
}

Error *relay_check_function(RelayCheck *check, RelayExpr *function) {
    const size_t names = check->type_name_count, scope = check->shadow_count;
    for (uint32_t i = 0; i < function->type_parameter_count; i++) {
        RelayType **ignored;
        TRY(relay_push_type_names(
            check, function->place, 1, &function->type_parameter_names[i], &ignored));
        check->type_names[check->type_name_count - 1].type = function->type_parameters[i];
    }
    for (uint32_t i = 0; i < function->parameter_count; i++)
        TRY(relay_scope_push(check, function->parameters[i]));
    RelayExpr *body = function->items[0];
    TRY(relay_check_expr(check, body));
    TRY(relay_check_fits(check, body->place, body->type,
        function->type->items[function->parameter_count], "the function's result"));
    check->type_name_count = names;
    return relay_scope_pop(check, scope);
}

static Error *check_function_value(RelayCheck *check, RelayExpr *expr) {
    const size_t names = check->type_name_count;
    TRY(relay_declare_function(check, expr));
    check->type_name_count = names;
    TRY(relay_check_function(check, expr));
    return relay_type_instantiate(
        check->program, expr->type, expr->type_parameter_count, expr->type_parameters, &expr->type);
}

/* A function may call itself by the variable's name. */
static Error *check_function_binding(RelayCheck *check, RelayLocal *local, RelayExpr *value) {
    const size_t names = check->type_name_count;
    TRY(relay_declare_function(check, value));
    check->type_name_count = names;
    local->parameter_count = value->type_parameter_count;
    local->parameters = value->type_parameters;
    if (local->type_text) {
        RelayType *written;
        TRY(relay_resolve_type(check, local->type_text, &written));
        TRY(relay_check_fits(check, value->place, value->type, written, "the value"));
    }
    local->type = value->type;
    TRY(relay_scope_push(check, local));
    return relay_check_function(check, value);
}

static Error *check_binding(RelayCheck *check, const RelayBinding *binding) {
    RelayLocal *local = binding->local;
    RelayExpr *value = binding->value;
    if (value->kind == RELAY_FUNCTION) return check_function_binding(check, local, value);
    TRY(relay_check_expr(check, value));
    TRY(relay_resolve_type(check, local->type_text, &local->type));
    TRY(relay_check_fits(check, value->place, value->type, local->type, "the value"));
    if (!local->type_text) local->type = value->type;
    return relay_scope_push(check, local);
}

static Error *check_block(RelayCheck *check, RelayExpr *expr) {
    const size_t scope = check->shadow_count;
    for (uint32_t i = 0; i < expr->binding_count; i++)
        TRY(check_binding(check, &expr->bindings[i]));
    TRY(relay_check_expr(check, expr->items[0]));
    expr->type = expr->items[0]->type;
    return relay_scope_pop(check, scope);
}

Error *relay_check_expr(RelayCheck *check, RelayExpr *expr) {
    switch (expr->kind) {
    case RELAY_LOCAL:
        return check_local(check, expr);
    case RELAY_GLOBAL:
        return check_global(check, expr);
    case RELAY_NAME:
        return relay_check_name(check, expr);
    case RELAY_CONSTANT:
        return check_constant(check, expr);
    case RELAY_TUPLE:
        return check_tuple(check, expr);
    case RELAY_PROJECT:
        return check_project(check, expr);
    case RELAY_CALL:
        return relay_check_call(check, expr);
    case RELAY_BLOCK:
        return check_block(check, expr);
    case RELAY_IF:
        return check_if(check, expr);
    case RELAY_FUNCTION:
        return check_function_value(check, expr);
    case RELAY_MATCH:
        return relay_check_match(check, expr);
    }
    FAIL(INTERNAL, "an expression of kind %d", (int)expr->kind);
}
