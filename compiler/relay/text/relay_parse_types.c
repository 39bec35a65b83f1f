/* Types, type parameters and variables with their types. */
#include <string.h>

#include "compiler/relay/text/relay_parser_internal.h"

/* A dimension: a number, or "?". */
static Error *parse_dim(RelayParser *parser, RelayTypeText *type) {
    RelayTokens *tokens = &parser->tokens;
    bool open;
    if (type->rank == SHAPE_RANK_MAX)
        FAIL(INVALID, RELAY_AT ": a tensor of more than %d dimensions", RELAY_PLACE(tokens->place),
            SHAPE_RANK_MAX);
    TRY(relay_tokens_take(tokens, "?", &open));
    if (open) {
        type->dims[type->rank++] = -1;
        return NULL;
    }
    if (tokens->kind != RELAY_TOKEN_INT || tokens->integer < 0)
        return relay_tokens_fail(tokens, "a dimension, a number or ?,");
    type->dims[type->rank++] = tokens->integer;
    return relay_tokens_next(tokens);
}

static Error *parse_shape(RelayParser *parser, RelayTypeText *type) {
    RelayTokens *tokens = &parser->tokens;
    bool taken;
    TRY(relay_tokens_take(tokens, "(", &taken));
    if (!taken) return parse_dim(parser, type);
    TRY(relay_tokens_take(tokens, ")", &taken));
    while (!taken) {
        TRY(parse_dim(parser, type));
        TRY(relay_tokens_take(tokens, ",", &taken));
        bool more = taken;
        TRY(relay_tokens_take(tokens, ")", &taken));
        if (!taken && !more) return relay_tokens_fail(tokens, ")");
    }
    return NULL;
}

/* "[(3, ?), float32]" */
static Error *parse_tensor(RelayParser *parser, RelayTypeText *type) {
    RelayTokens *tokens = &parser->tokens;
    type->kind = RELAY_TEXT_TENSOR;
    TRY(relay_tokens_expect(tokens, "["));
    TRY(parse_shape(parser, type));
    TRY(relay_tokens_expect(tokens, ","));
    type->dtype = tokens->kind == RELAY_TOKEN_NAME ? dtype_find(tokens->text) : DTYPE_NONE;
    if (type->dtype == DTYPE_NONE || type->dtype == DTYPE_STRING)
        return relay_tokens_fail(tokens, "an element type such as float32");
    TRY(relay_tokens_next(tokens));
    return relay_tokens_expect(tokens, "]");
}

/* Types between commas up to the closing sign. */
static Error *parse_types(
    RelayParser *parser, const char *close, RelayItems *items, bool *out_comma) {
    RelayTokens *tokens = &parser->tokens;
    bool taken;
    *out_comma = false;
    TRY(relay_tokens_take(tokens, close, &taken));
    while (!taken) {
        RelayTypeText *item;
        if (items->count == RELAY_ITEMS_MAX) return relay_tokens_fail(tokens, "a shorter list");
        TRY(relay_parse_type(parser, &item));
        TRY(relay_items_add(items, item));
        TRY(relay_tokens_take(tokens, ",", out_comma));
        TRY(relay_tokens_take(tokens, close, &taken));
        if (!taken && !*out_comma) return relay_tokens_fail(tokens, close);
    }
    return NULL;
}

static Error *set_items(RelayParser *parser, RelayTypeText *type, RelayItems *items) {
    for (size_t i = 0; i < items->count; i++) {
        const RelayTypeText *item = items->items[i];
        if (item->depth >= type->depth) type->depth = item->depth + 1;
    }
    if (type->depth > RELAY_NESTING_MAX)
        FAIL(INVALID, RELAY_AT ": types are nested deeper than %d", RELAY_PLACE(type->place),
            RELAY_NESTING_MAX);
    return relay_items_take(parser, items, &type->items, &type->count);
}

/* "fn (A, B) -> C" */
static Error *parse_function_type(RelayParser *parser, RelayTypeText *type, RelayItems *items) {
    RelayTypeText *result;
    bool comma;
    type->kind = RELAY_TEXT_FUNCTION;
    TRY(relay_tokens_expect(&parser->tokens, "("));
    TRY(parse_types(parser, ")", items, &comma));
    TRY(relay_tokens_expect(&parser->tokens, "->"));
    TRY(relay_parse_type(parser, &result));
    TRY(relay_items_add(items, result));
    return set_items(parser, type, items);
}

/* "ref(A)", another way to write "Ref[A]". */
static Error *parse_reference_type(RelayParser *parser, RelayTypeText *type, RelayItems *items) {
    bool comma;
    type->name = "Ref";
    TRY(relay_tokens_expect(&parser->tokens, "("));
    TRY(parse_types(parser, ")", items, &comma));
    return set_items(parser, type, items);
}

/* "(A, B)", or a type in brackets. */
static Error *parse_tuple_type(RelayParser *parser, RelayTypeText **inout, RelayItems *items) {
    bool comma;
    TRY(parse_types(parser, ")", items, &comma));
    if (items->count == 1 && !comma) {
        *inout = items->items[0];
        return NULL;
    }
    (*inout)->kind = RELAY_TEXT_TUPLE;
    return set_items(parser, *inout, items);
}

static Error *parse_named_type(RelayParser *parser, RelayTypeText *type, RelayItems *items) {
    RelayTokens *tokens = &parser->tokens;
    bool taken, comma;
    if (tokens->kind != RELAY_TOKEN_NAME) return relay_tokens_fail(tokens, "a type");
    type->kind = RELAY_TEXT_NAMED;
    TRY(relay_parse_text(parser, &type->name));
    TRY(relay_tokens_next(tokens));
    if (strcmp(type->name, "Tensor") == 0) return parse_tensor(parser, type);
    if (strcmp(type->name, "ref") == 0 && relay_tokens_is(tokens, "("))
        return parse_reference_type(parser, type, items);
    if (strcmp(type->name, "_") == 0) type->kind = RELAY_TEXT_UNKNOWN;
    TRY(relay_tokens_take(tokens, "[", &taken));
    if (taken) TRY(parse_types(parser, "]", items, &comma));
    return set_items(parser, type, items);
}

static Error *parse_type_inside(RelayParser *parser, RelayTypeText **inout) {
    RelayItems OWN_ITEMS(items) = {0};
    bool taken;
    TRY(relay_tokens_take(&parser->tokens, "fn", &taken));
    if (taken) return parse_function_type(parser, *inout, &items);
    TRY(relay_tokens_take(&parser->tokens, "(", &taken));
    if (taken) return parse_tuple_type(parser, inout, &items);
    return parse_named_type(parser, *inout, &items);
}

Error *relay_parse_type(RelayParser *parser, RelayTypeText **out) {
    RelayTypeText *type;
    TRY(relay_parse_enter(parser));
    TRY(relay_new(parser->program, 1, sizeof *type, &type));
    type->place = parser->tokens.place;
    type->depth = 1;
    TRY(parse_type_inside(parser, &type));
    parser->depth--;
    *out = type;
    return NULL;
}

Error *relay_parse_type_parameters(
    RelayParser *parser, const char ***out_names, uint32_t *out_count) {
    RelayTokens *tokens = &parser->tokens;
    RelayItems OWN_ITEMS(names) = {0};
    bool taken;
    *out_count = 0;
    TRY(relay_tokens_take(tokens, "[", &taken));
    if (!taken) return NULL;
    TRY(relay_tokens_take(tokens, "]", &taken));
    while (!taken) {
        const char *name;
        bool comma;
        if (tokens->kind != RELAY_TOKEN_NAME || names.count == RELAY_ITEMS_MAX)
            return relay_tokens_fail(tokens, "the name of a type parameter");
        TRY(relay_parse_text(parser, &name));
        TRY(relay_items_add(&names, (void *)(uintptr_t)name));
        TRY(relay_tokens_next(tokens));
        TRY(relay_tokens_take(tokens, ",", &comma));
        TRY(relay_tokens_take(tokens, "]", &taken));
        if (!taken && !comma) return relay_tokens_fail(tokens, "]");
    }
    return relay_items_take(parser, &names, out_names, out_count);
}

Error *relay_parse_local(RelayParser *parser, RelayLocal **out) {
    RelayTokens *tokens = &parser->tokens;
    RelayLocal *local;
    bool typed;
    if (tokens->kind != RELAY_TOKEN_LOCAL) return relay_tokens_fail(tokens, "a variable");
    TRY(relay_new(parser->program, 1, sizeof *local, &local));
    local->place = tokens->place;
    TRY(relay_parse_text(parser, &local->name));
    TRY(relay_tokens_next(tokens));
    TRY(relay_tokens_take(tokens, ":", &typed));
    if (typed) {
        RelayTypeText *type;
        TRY(relay_parse_type(parser, &type));
        local->type_text = type;
    }
    *out = local;
    return NULL;
}
