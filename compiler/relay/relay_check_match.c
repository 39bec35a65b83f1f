/* The types of matches and their patterns. */
#include "compiler/relay/relay_cases.h"
#include "compiler/relay/relay_check_internal.h"

static Error *check_pattern(RelayCheck *check, RelayPattern *pattern, RelayType *type);

static Error *check_constructor_pattern(RelayCheck *check, RelayPattern *pattern, RelayType *type) {
    RelayProgram *program = check->program;
    RelayConstructor *made = name_map_find(program->constructors, pattern->name);
    if (!made)
        FAIL(INVALID, RELAY_AT ": there is no constructor %s", RELAY_PLACE(pattern->place),
            pattern->name);
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
        TRY(check_pattern(check, pattern->items[i], field));
    }
    return NULL;
}

static Error *check_tuple_pattern(RelayCheck *check, RelayPattern *pattern, RelayType *type) {
    RelayProgram *program = check->program;
    RelayType **items, *wanted;
    TRY(relay_new(program, pattern->count, sizeof *items, &items));
    for (uint32_t i = 0; i < pattern->count; i++)
        TRY(relay_type_make(program, RELAY_TYPE_VARIABLE, &items[i]));
    TRY(relay_type_of(program, RELAY_TYPE_TUPLE, NULL, pattern->count, items, &wanted));
    TRY(relay_check_fits(check, pattern->place, type, wanted, "the value"));
    for (uint32_t i = 0; i < pattern->count; i++)
        TRY(check_pattern(check, pattern->items[i], items[i]));
    return NULL;
}

static Error *check_pattern(RelayCheck *check, RelayPattern *pattern, RelayType *type) {
    pattern->type = type;
    if (pattern->kind == RELAY_PATTERN_CONSTRUCTOR)
        return check_constructor_pattern(check, pattern, type);
    if (pattern->kind == RELAY_PATTERN_TUPLE) return check_tuple_pattern(check, pattern, type);
    if (!pattern->local) return NULL;
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
        TRY(check_pattern(check, match->patterns[i], value->type));
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
