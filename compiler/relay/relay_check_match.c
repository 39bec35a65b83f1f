/* The types of matches and their patterns. */
#include "compiler/relay/relay_cases.h"
#include "compiler/relay/relay_check_internal.h"

static Error *check_pattern(
    RelayCheck *check, RelayPattern *pattern, RelayType *type, size_t scope);

/* Refuses a variable that one pattern has twice. scope: where the pattern's variables begin. It may
 * hide a variable from outside. */
static Error *check_once(const RelayCheck *check, const RelayLocal *local, size_t scope) {
    for (size_t i = scope; i < check->shadow_count; i++)
        if (check->shadows[i].local == relay_scope_find(check, local->name))
            FAIL(INVALID, RELAY_AT ": the pattern has variable %%%s twice",
                RELAY_PLACE(local->place), local->name);
    return NULL;
}

static Error *no_constructor(const RelayCheck *check, const RelayPattern *pattern) {
    Nearest nearest = nearest_to(pattern->name);
    relay_constructor_nearest(check, &nearest);
    FAIL(INVALID, RELAY_AT ": there is no constructor %s" NEAREST_TEXT, RELAY_PLACE(pattern->place),
        pattern->name, NEAREST_NAME(nearest, ""));
}

static Error *check_constructor_pattern(
    RelayCheck *check, RelayPattern *pattern, RelayType *type, size_t scope) {
    RelayProgram *program = check->program;
    RelayConstructor *made = name_map_find(program->constructors, pattern->name);
    if (!made) return no_constructor(check, pattern);
    RelayData *data = made->data;
    RelayType **by, *wanted;
    TRY(relay_want_data(check, data));
    TRY(relay_new(program, data->parameter_count, sizeof *by, &by));
    for (uint32_t i = 0; i < data->parameter_count; i++)
        TRY(relay_type_make(program, RELAY_TYPE_VARIABLE, &by[i]));
    TRY(relay_type_of(program, RELAY_TYPE_DATA, data, data->parameter_count, by, &wanted));
    TRY(relay_check_fits(check, pattern->place, type, wanted, "the value"));
    if (pattern->count != made->field_count)
        FAIL(INVALID, RELAY_AT ": constructor %s has %u fields, not %u",
            RELAY_PLACE(pattern->place), made->name, made->field_count, pattern->count);
    pattern->constructor = made;
    for (uint32_t i = 0; i < pattern->count; i++) {
        RelayType *field;
        TRY(relay_type_substitute(
            program, made->fields[i], data->parameter_count, data->parameters, by, &field));
        TRY(check_pattern(check, pattern->items[i], field, scope));
    }
    return NULL;
}

static Error *check_tuple_pattern(
    RelayCheck *check, RelayPattern *pattern, RelayType *type, size_t scope) {
    RelayProgram *program = check->program;
    RelayType **items, *wanted;
    TRY(relay_new(program, pattern->count, sizeof *items, &items));
    for (uint32_t i = 0; i < pattern->count; i++)
        TRY(relay_type_make(program, RELAY_TYPE_VARIABLE, &items[i]));
    TRY(relay_type_of(program, RELAY_TYPE_TUPLE, NULL, pattern->count, items, &wanted));
    TRY(relay_check_fits(check, pattern->place, type, wanted, "the value"));
    for (uint32_t i = 0; i < pattern->count; i++)
        TRY(check_pattern(check, pattern->items[i], items[i], scope));
    return NULL;
}

static Error *check_pattern(
    RelayCheck *check, RelayPattern *pattern, RelayType *type, size_t scope) {
    pattern->type = type;
    if (pattern->kind == RELAY_PATTERN_CONSTRUCTOR)
        return check_constructor_pattern(check, pattern, type, scope);
    if (pattern->kind == RELAY_PATTERN_TUPLE)
        return check_tuple_pattern(check, pattern, type, scope);
    if (!pattern->local) return NULL;
    TRY(check_once(check, pattern->local, scope));
    TRY(relay_resolve_type(check, pattern->local->type_text, &pattern->local->type));
    TRY(relay_check_fits(check, pattern->place, type, pattern->local->type, "the value"));
    if (!pattern->local->type_text) pattern->local->type = type;
    return relay_scope_push(check, pattern->local);
}

Error *relay_check_match(RelayCheck *check, RelayExpr *match) {
    RelayExpr *value = match->items[0];
    const char *missing;
    TRY(relay_check_expr(check, value));
    TRY(relay_type_make(check->program, RELAY_TYPE_VARIABLE, &match->type));
    for (uint32_t i = 0; i < match->pattern_count; i++) {
        const size_t scope = check->shadow_count;
        RelayExpr *body = match->items[1 + i];
        TRY(check_pattern(check, match->patterns[i], value->type, scope));
        TRY(relay_check_expr(check, body));
        TRY(relay_check_fits(check, body->place, body->type, match->type, "the arm"));
        TRY(relay_scope_pop(check, scope));
    }
    TRY_WRAP(
        relay_cases_missing(check->program, match, &missing), RELAY_AT, RELAY_PLACE(match->place));
    if (!missing || match->partial) return NULL;
    FAIL(INVALID, RELAY_AT ": the match has no arm for %s; add one, or write match?",
        RELAY_PLACE(match->place), missing);
}
