/* The types of calls: of functions, constructors and operators. */
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "compiler/relay/relay_check_internal.h"

enum { WHAT_SIZE = 128 };

static Error *check_arguments(RelayCheck *check, RelayExpr *call) {
    for (uint32_t i = 1; i < call->count; i++) TRY(relay_check_expr(check, call->items[i]));
    return NULL;
}

/* "@" of a function, "%" of a variable, "" of a constructor. */
static const char *sigil(const RelayExpr *call) {
    const RelayExpr *callee = call->items[0];
    return callee->kind == RELAY_GLOBAL ? "@" : callee->kind == RELAY_LOCAL ? "%" : "";
}

static Error *check_count(const RelayExpr *call, const char *name, uint32_t wanted) {
    if (call->count - 1 == wanted) return NULL;
    FAIL(INVALID, RELAY_AT ": %s%.60s takes %u argument%s, not %u", RELAY_PLACE(call->place),
        sigil(call), name, wanted, wanted == 1 ? "" : "s", call->count - 1);
}

static Error *no_attributes(const RelayExpr *call, const char *name) {
    if (call->attribute_count == 0) return NULL;
    FAIL(INVALID, RELAY_AT ": %s%.60s has no attribute %s", RELAY_PLACE(call->attributes[0].place),
        sigil(call), name, call->attributes[0].name);
}

static Error *check_fields(
    RelayCheck *check, RelayExpr *call, const char *name, RelayType *const *wanted) {
    for (uint32_t i = 1; i < call->count; i++) {
        char what[WHAT_SIZE];
        (void)snprintf(what, sizeof what, "argument %u of %s%.60s", i, sigil(call), name);
        TRY(relay_check_fits(
            check, call->items[i]->place, call->items[i]->type, wanted[i - 1], what));
    }
    return NULL;
}

static Error *check_construction(RelayCheck *check, RelayExpr *call, RelayConstructor *made) {
    RelayProgram *program = check->program;
    RelayData *data = made->data;
    RelayType **by, **fields;
    TRY(relay_want_data(check, data));
    TRY(no_attributes(call, made->name));
    TRY(check_count(call, made->name, made->field_count));
    TRY(check_arguments(check, call));
    TRY(relay_new(program, data->parameter_count, sizeof *by, &by));
    for (uint32_t i = 0; i < data->parameter_count; i++)
        TRY(relay_type_make(program, RELAY_TYPE_VARIABLE, &by[i]));
    TRY(relay_new(program, made->field_count, sizeof *fields, &fields));
    for (uint32_t i = 0; i < made->field_count; i++)
        TRY(relay_type_substitute(
            program, made->fields[i], data->parameter_count, data->parameters, by, &fields[i]));
    call->constructor = made;
    TRY(check_fields(check, call, made->name, fields));
    return relay_type_of(program, RELAY_TYPE_DATA, data, data->parameter_count, by, &call->type);
}

static Error *wait(RelayCheck *check, RelayExpr *call) {
    void *waiting = check->waiting;
    TRY(memory_grow(&waiting, check->waiting_count, &check->waiting_capacity, sizeof call));
    check->waiting = waiting;
    check->waiting[check->waiting_count++] = call;
    return NULL;
}

static Error *check_operator(RelayCheck *check, RelayExpr *call, const RelayOperator *row) {
    bool known;
    RelayType *result;
    call->operator_row = row;
    TRY(relay_operator_check_call(row, call));
    TRY(check_arguments(check, call));
    TRY(relay_operator_infer(check->program, check->scratch, call, &result, &known));
    if (known) {
        call->type = result;
        return NULL;
    }
    TRY(relay_type_make(check->program, RELAY_TYPE_VARIABLE, &call->type));
    return wait(check, call);
}

/* ---- references ---- */

static const struct {
    const char *name;
    uint32_t arity;
} references[] = {
    [RELAY_REFERENCE_NEW] = {"ref", 1},
    [RELAY_REFERENCE_READ] = {"ref_read", 1},
    [RELAY_REFERENCE_WRITE] = {"ref_write", 2},
};

static RelayReference find_reference(const char *name) {
    for (RelayReference i = RELAY_REFERENCE_NEW; i <= RELAY_REFERENCE_WRITE; i++)
        if (strcmp(references[i].name, name) == 0) return i;
    return RELAY_REFERENCE_NONE;
}

/* What is held has a type that first holds of the value at ref, then of all that is written. */
static Error *check_reference(RelayCheck *check, RelayExpr *call, RelayReference reference) {
    RelayProgram *program = check->program;
    const char *name = references[reference].name;
    RelayType *held, *type;
    TRY(no_attributes(call, name));
    TRY(check_count(call, name, references[reference].arity));
    TRY(check_arguments(check, call));
    program->has_references = true;
    call->reference = reference;
    TRY(relay_type_make(program, RELAY_TYPE_VARIABLE, &held));
    TRY(relay_type_of(program, RELAY_TYPE_REFERENCE, NULL, 1, &held, &type));
    if (reference == RELAY_REFERENCE_NEW) {
        call->type = type;
        return check_fields(check, call, name, &held);
    }
    RelayType *const wanted[] = {type, held};
    TRY(check_fields(check, call, name, wanted));
    call->type = held;
    if (reference == RELAY_REFERENCE_READ) return NULL;
    return relay_type_of(program, RELAY_TYPE_TUPLE, NULL, 0, NULL, &call->type);
}

static Error *unknown_name(const RelayCheck *check, const RelayExpr *expr) {
    Nearest nearest = nearest_to(expr->name);
    for (RelayReference i = RELAY_REFERENCE_NEW; i <= RELAY_REFERENCE_WRITE; i++)
        nearest_try(&nearest, references[i].name);
    relay_constructor_nearest(check, &nearest);
    relay_operator_nearest(&nearest);
    FAIL(UNSUPPORTED, RELAY_AT ": there is no operator or constructor %.200s" NEAREST_TEXT,
        RELAY_PLACE(expr->place), expr->name, NEAREST_NAME(nearest, ""));
}

static Error *check_named_call(RelayCheck *check, RelayExpr *call) {
    const RelayExpr *callee = call->items[0];
    RelayConstructor *made = name_map_find(check->program->constructors, callee->name);
    const RelayOperator *row = relay_operator_find(callee->name);
    const RelayReference reference = find_reference(callee->name);
    if (made) return check_construction(check, call, made);
    if (reference != RELAY_REFERENCE_NONE) return check_reference(check, call, reference);
    if (!row) return unknown_name(check, callee);
    return check_operator(check, call, row);
}

Error *relay_check_call(RelayCheck *check, RelayExpr *call) {
    RelayExpr *callee = call->items[0];
    RelayType **items, *wanted;
    if (callee->kind == RELAY_NAME) return check_named_call(check, call);
    const char *name = callee->name ? callee->name : "the function";
    TRY(relay_check_expr(check, callee));
    TRY(check_arguments(check, call));
    TRY(no_attributes(call, name));
    const RelayType *type = relay_type_find(callee->type);
    if (type->kind == RELAY_TYPE_FUNCTION) {
        TRY(check_count(call, name, type->count - 1));
        TRY(check_fields(check, call, name, type->items));
        call->type = type->items[type->count - 1];
        return NULL;
    }
    TRY(relay_new(check->program, call->count, sizeof *items, &items));
    for (uint32_t i = 1; i < call->count; i++) items[i - 1] = call->items[i]->type;
    TRY(relay_type_make(check->program, RELAY_TYPE_VARIABLE, &items[call->count - 1]));
    TRY(relay_type_of(check->program, RELAY_TYPE_FUNCTION, NULL, call->count, items, &wanted));
    call->type = items[call->count - 1];
    return relay_check_fits(check, callee->place, callee->type, wanted, "what is called");
}

/* Makes fn (%a, …) { name(%a, …) }. A constructor without fields is called at once. */
static Error *wrap_name(RelayCheck *check, RelayExpr *expr, uint32_t count) {
    RelayProgram *program = check->program;
    RelayExpr *callee, *call;
    TRY(relay_new(program, 1, sizeof *callee, &callee));
    TRY(relay_new(program, 1, sizeof *call, &call));
    *callee = *expr;
    *call = (RelayExpr){.kind = RELAY_CALL, .place = expr->place, .depth = 2, .count = count + 1};
    TRY(relay_new(program, count + 1, sizeof *call->items, &call->items));
    call->items[0] = callee;
    if (count == 0) {
        *expr = *call;
        return NULL;
    }
    *expr = (RelayExpr){.kind = RELAY_FUNCTION,
        .place = expr->place,
        .depth = 3,
        .count = 1,
        .parameter_count = count};
    TRY(relay_new(program, 1, sizeof *expr->items, &expr->items));
    expr->items[0] = call;
    TRY(relay_new(program, count, sizeof *expr->parameters, &expr->parameters));
    for (uint32_t i = 0; i < count; i++) {
        RelayLocal *local;
        RelayExpr *use;
        TRY(relay_new(program, 1, sizeof *local, &local));
        TRY(relay_new(program, 1, sizeof *use, &use));
        char name[WHAT_SIZE];
        void *copy;
        const int size = snprintf(name, sizeof name, "argument %u", i + 1);
        TRY(arena_copy(&program->arena, name, (size_t)size + 1, 1, &copy));
        *local = (RelayLocal){.name = copy, .place = expr->place};
        *use = (RelayExpr){.kind = RELAY_LOCAL, .place = expr->place, .name = copy, .depth = 1};
        expr->parameters[i] = local;
        call->items[i + 1] = use;
    }
    return NULL;
}

Error *relay_check_name(RelayCheck *check, RelayExpr *expr) {
    const RelayConstructor *made = name_map_find(check->program->constructors, expr->name);
    const RelayOperator *row = relay_operator_find(expr->name);
    const RelayReference reference = find_reference(expr->name);
    if (!made && !row && reference == RELAY_REFERENCE_NONE) return unknown_name(check, expr);
    TRY(wrap_name(check, expr,
        made  ? made->field_count
        : row ? relay_operator_arity(row)
              : references[reference].arity));
    return relay_check_expr(check, expr);
}

Error *relay_check_waiting(RelayCheck *check, bool all) {
    for (bool progress = true; progress;) {
        size_t kept = 0;
        progress = false;
        for (size_t i = 0; i < check->waiting_count; i++) {
            RelayExpr *call = check->waiting[i];
            RelayType *result;
            bool known;
            TRY(relay_operator_infer(check->program, check->scratch, call, &result, &known));
            if (!known) {
                check->waiting[kept++] = call;
                continue;
            }
            progress = true;
            TRY(relay_check_fits(check, call->place, result, call->type, "the operator's result"));
        }
        check->waiting_count = kept;
    }
    if (!all || check->waiting_count == 0) return NULL;
    const RelayExpr *call = check->waiting[0];
    FAIL(INVALID,
        RELAY_AT ": the type of an argument of %s is not known; write the types of parameters",
        RELAY_PLACE(call->place), relay_operator_name(call->operator_row));
}
