/* Expressions. */
#include <string.h>

#include "compiler/relay/text/relay_parser_internal.h"

Error *relay_make_expr(RelayParser *parser, RelayKind kind, RelayPlace place, RelayExpr **out) {
    TRY(relay_new(parser->program, 1, sizeof **out, out));
    (*out)->kind = kind;
    (*out)->place = place;
    (*out)->depth = 1;
    return NULL;
}

static Error *note_depth(RelayExpr *expr, const RelayExpr *part) {
    if (part->depth >= expr->depth) expr->depth = part->depth + 1;
    if (expr->depth > RELAY_NESTING_MAX)
        FAIL(INVALID, RELAY_AT ": expressions are nested deeper than %d", RELAY_PLACE(expr->place),
            RELAY_NESTING_MAX);
    return NULL;
}

Error *relay_set_items(
    RelayParser *parser, RelayExpr *expr, uint32_t count, RelayExpr *const *items) {
    for (uint32_t i = 0; i < count; i++) TRY(note_depth(expr, items[i]));
    TRY(relay_new(parser->program, count, sizeof *expr->items, &expr->items));
    if (count > 0) memcpy(expr->items, items, count * sizeof *items);
    expr->count = count;
    return NULL;
}

static Error *make_named(RelayParser *parser, RelayKind kind, RelayExpr **out) {
    TRY(relay_make_expr(parser, kind, parser->tokens.place, out));
    TRY(relay_parse_text(parser, &(*out)->name));
    return relay_tokens_next(&parser->tokens);
}

/* One "name=value" behind a comma; the name is the present token. */
static Error *parse_attribute(RelayParser *parser, RelayItems *attributes) {
    RelayTokens *tokens = &parser->tokens;
    RelayAttribute *attribute;
    TRY(relay_new(parser->program, 1, sizeof *attribute, &attribute));
    attribute->place = tokens->place;
    TRY(relay_parse_text(parser, &attribute->name));
    TRY(relay_tokens_next(tokens));
    TRY(relay_tokens_expect(tokens, "="));
    TRY(relay_parse_value(parser, &attribute->value));
    return relay_items_add(attributes, attribute);
}

static Error *set_attributes(RelayParser *parser, RelayItems *attributes, RelayExpr *expr) {
    TRY(relay_new(parser->program, attributes->count, sizeof *expr->attributes, &expr->attributes));
    for (size_t i = 0; i < attributes->count; i++)
        expr->attributes[i] = *(RelayAttribute *)attributes->items[i];
    expr->attribute_count = (uint32_t)attributes->count;
    return NULL;
}

/* Expressions and attributes between commas up to ")". */
static Error *parse_arguments(
    RelayParser *parser, RelayItems *items, RelayItems *attributes, bool *out_comma) {
    RelayTokens *tokens = &parser->tokens;
    bool taken;
    *out_comma = false;
    TRY(relay_tokens_take(tokens, ")", &taken));
    while (!taken) {
        RelayExpr *item;
        if (items->count + attributes->count >= RELAY_ITEMS_MAX)
            return relay_tokens_fail(tokens, "a shorter list");
        if (attributes && tokens->kind == RELAY_TOKEN_NAME && relay_tokens_assigns(tokens)) {
            TRY(parse_attribute(parser, attributes));
        } else {
            TRY(relay_parse_expr(parser, &item));
            TRY(relay_items_add(items, item));
        }
        TRY(relay_tokens_take(tokens, ",", out_comma));
        TRY(relay_tokens_take(tokens, ")", &taken));
        if (!taken && !*out_comma) return relay_tokens_fail(tokens, ")");
    }
    return NULL;
}

/* "(…)" : a tuple, or an expression in brackets. The bracket is read. */
static Error *parse_brackets(RelayParser *parser, RelayPlace place, RelayExpr **out) {
    RelayItems OWN_ITEMS(items) = {0};
    RelayItems OWN_ITEMS(none) = {0};
    bool comma;
    TRY(parse_arguments(parser, &items, &none, &comma));
    if (none.count > 0) FAIL(INVALID, RELAY_AT ": a tuple has no attributes", RELAY_PLACE(place));
    if (items.count == 1 && !comma) {
        *out = items.items[0];
        return NULL;
    }
    TRY(relay_make_expr(parser, RELAY_TUPLE, place, out));
    return relay_set_items(parser, *out, (uint32_t)items.count, (RelayExpr *const *)items.items);
}

static Error *parse_call(RelayParser *parser, RelayExpr *callee, RelayExpr **out) {
    RelayItems OWN_ITEMS(items) = {0};
    RelayItems OWN_ITEMS(attributes) = {0};
    bool comma;
    TRY(relay_make_expr(parser, RELAY_CALL, callee->place, out));
    TRY(relay_items_add(&items, callee));
    TRY(parse_arguments(parser, &items, &attributes, &comma));
    TRY(set_attributes(parser, &attributes, *out));
    return relay_set_items(parser, *out, (uint32_t)items.count, (RelayExpr *const *)items.items);
}

static Error *parse_braces(RelayParser *parser, RelayExpr **out) {
    TRY(relay_tokens_expect(&parser->tokens, "{"));
    TRY(relay_parse_block(parser, out));
    return relay_tokens_expect(&parser->tokens, "}");
}

static Error *parse_if(RelayParser *parser, RelayPlace place, RelayExpr **out) {
    RelayTokens *tokens = &parser->tokens;
    RelayExpr *items[3];
    TRY(relay_make_expr(parser, RELAY_IF, place, out));
    TRY(relay_tokens_expect(tokens, "("));
    TRY(relay_parse_expr(parser, &items[0]));
    TRY(relay_tokens_expect(tokens, ")"));
    TRY(parse_braces(parser, &items[1]));
    TRY(relay_tokens_expect(tokens, "else"));
    const RelayPlace behind = tokens->place;
    bool again;
    TRY(relay_tokens_take(tokens, "if", &again));
    if (again) {
        TRY(relay_parse_enter(parser));
        TRY(parse_if(parser, behind, &items[2]));
        parser->depth--;
    } else {
        TRY(parse_braces(parser, &items[2]));
    }
    return relay_set_items(parser, *out, 3, items);
}

/* Parameters and attributes of a function up to ")". */
static Error *parse_parameters(RelayParser *parser, RelayExpr *function) {
    RelayTokens *tokens = &parser->tokens;
    RelayItems OWN_ITEMS(locals) = {0};
    RelayItems OWN_ITEMS(attributes) = {0};
    bool taken;
    TRY(relay_tokens_expect(tokens, "("));
    TRY(relay_tokens_take(tokens, ")", &taken));
    while (!taken) {
        RelayLocal *local;
        bool comma;
        if (locals.count + attributes.count >= RELAY_ITEMS_MAX)
            return relay_tokens_fail(tokens, "fewer parameters");
        if (tokens->kind == RELAY_TOKEN_NAME && relay_tokens_assigns(tokens)) {
            TRY(parse_attribute(parser, &attributes)); /* says how TVM compiles the function */
        } else {
            TRY(relay_parse_local(parser, &local));
            TRY(relay_items_add(&locals, local));
        }
        TRY(relay_tokens_take(tokens, ",", &comma));
        TRY(relay_tokens_take(tokens, ")", &taken));
        if (!taken && !comma) return relay_tokens_fail(tokens, ")");
    }
    return relay_items_take(parser, &locals, &function->parameters, &function->parameter_count);
}

Error *relay_parse_function(RelayParser *parser, RelayPlace place, RelayExpr **out) {
    RelayTokens *tokens = &parser->tokens;
    RelayExpr *function, *body;
    bool typed;
    TRY(relay_make_expr(parser, RELAY_FUNCTION, place, &function));
    TRY(relay_parse_type_parameters(
        parser, &function->type_parameter_names, &function->type_parameter_count));
    TRY(parse_parameters(parser, function));
    TRY(relay_tokens_take(tokens, "->", &typed));
    if (typed) {
        RelayTypeText *result;
        TRY(relay_parse_type(parser, &result));
        function->result_text = result;
    }
    TRY(parse_braces(parser, &body));
    *out = function;
    return relay_set_items(parser, function, 1, &body);
}

static Error *parse_atom(RelayParser *parser, RelayExpr **out) {
    RelayTokens *tokens = &parser->tokens;
    const RelayPlace place = tokens->place;
    bool taken;
    if (tokens->kind == RELAY_TOKEN_LOCAL) return make_named(parser, RELAY_LOCAL, out);
    if (tokens->kind == RELAY_TOKEN_GLOBAL) return make_named(parser, RELAY_GLOBAL, out);
    TRY(relay_parse_constant(parser, out, &taken));
    if (taken) return NULL;
    TRY(relay_tokens_take(tokens, "(", &taken));
    if (taken) return parse_brackets(parser, place, out);
    TRY(relay_tokens_take(tokens, "if", &taken));
    if (taken) return parse_if(parser, place, out);
    TRY(relay_tokens_take(tokens, "fn", &taken));
    if (taken) return relay_parse_function(parser, place, out);
    TRY(relay_tokens_take(tokens, "match", &taken));
    if (taken) return relay_parse_match(parser, place, out);
    static const char *const words[] = {"else", "def", "type", "let"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (relay_tokens_is(tokens, words[i])) return relay_tokens_fail(tokens, "an expression");
    if (tokens->kind == RELAY_TOKEN_NAME) return make_named(parser, RELAY_NAME, out);
    return relay_tokens_fail(tokens, "an expression");
}

/* An atom with calls and fields behind it. */
static Error *parse_postfix(RelayParser *parser, RelayExpr **out) {
    RelayTokens *tokens = &parser->tokens;
    TRY(parse_atom(parser, out));
    for (;;) {
        RelayExpr *inner = *out;
        bool call, field;
        TRY(relay_tokens_take(tokens, "(", &call));
        if (call) {
            TRY(parse_call(parser, inner, out));
            continue;
        }
        TRY(relay_tokens_take(tokens, ".", &field));
        if (!field) return NULL;
        if (tokens->kind != RELAY_TOKEN_INT || tokens->integer < 0 || tokens->integer > INT32_MAX)
            return relay_tokens_fail(tokens, "the number of a field");
        TRY(relay_make_expr(parser, RELAY_PROJECT, inner->place, out));
        (*out)->index = (uint32_t)tokens->integer;
        TRY(relay_tokens_next(tokens));
        TRY(relay_set_items(parser, *out, 1, &inner));
    }
}

static const struct {
    const char *sign, *operator_name;
    uint32_t level;
} infixes[] = {{"==", "equal", 0}, {"!=", "not_equal", 0}, {"<", "less", 1},
    {"<=", "less_equal", 1}, {">", "greater", 1}, {">=", "greater_equal", 1}, {"+", "add", 2},
    {"-", "subtract", 2}, {"*", "multiply", 3}, {"/", "divide", 3}};
enum { INFIX_COUNT = sizeof infixes / sizeof infixes[0], LEVEL_MAX = 3 };

static uint32_t find_infix(const RelayTokens *tokens, uint32_t level) {
    uint32_t i = 0;
    while (i < INFIX_COUNT && (infixes[i].level != level || tokens->kind != RELAY_TOKEN_SIGN ||
                                  strcmp(tokens->text, infixes[i].sign) != 0))
        i++;
    return i;
}

/* Signs between expressions, those of a higher level first. */
static Error *parse_infix(RelayParser *parser, uint32_t level, RelayExpr **out) {
    RelayTokens *tokens = &parser->tokens;
    if (level > LEVEL_MAX) return parse_postfix(parser, out);
    TRY(parse_infix(parser, level + 1, out));
    for (;;) {
        RelayExpr *items[3] = {NULL, *out, NULL};
        const uint32_t infix = find_infix(tokens, level);
        if (infix == INFIX_COUNT) return NULL;
        TRY(relay_make_expr(parser, RELAY_NAME, tokens->place, &items[0]));
        TRY(relay_make_expr(parser, RELAY_CALL, tokens->place, out));
        items[0]->name = infixes[infix].operator_name;
        TRY(relay_tokens_next(tokens));
        TRY(parse_infix(parser, level + 1, &items[2]));
        TRY(relay_set_items(parser, *out, 3, items));
    }
}

static bool begins_binding(const RelayTokens *tokens) {
    return relay_tokens_is(tokens, "let") ||
           (tokens->kind == RELAY_TOKEN_LOCAL && relay_tokens_assigns(tokens));
}

Error *relay_parse_expr(RelayParser *parser, RelayExpr **out) {
    TRY(relay_parse_enter(parser));
    if (begins_binding(&parser->tokens))
        TRY(relay_parse_block(parser, out));
    else
        TRY(parse_infix(parser, 0, out));
    parser->depth--;
    return NULL;
}

/* "let %x: T = value;" or "%0 = value;" */
static Error *parse_binding(RelayParser *parser, RelayItems *bindings) {
    RelayTokens *tokens = &parser->tokens;
    RelayBinding *binding;
    bool let;
    if (bindings->count == RELAY_BINDINGS_MAX)
        return relay_tokens_fail(tokens, "a block of fewer bindings");
    TRY(relay_new(parser->program, 1, sizeof *binding, &binding));
    TRY(relay_tokens_take(tokens, "let", &let));
    TRY(relay_parse_local(parser, &binding->local));
    TRY(relay_tokens_expect(tokens, "="));
    TRY(relay_parse_expr(parser, &binding->value));
    TRY(relay_tokens_expect(tokens, ";"));
    return relay_items_add(bindings, binding);
}

Error *relay_parse_block(RelayParser *parser, RelayExpr **out) {
    RelayItems OWN_ITEMS(bindings) = {0};
    RelayExpr *block, *result;
    TRY(relay_parse_enter(parser));
    TRY(relay_make_expr(parser, RELAY_BLOCK, parser->tokens.place, &block));
    while (begins_binding(&parser->tokens)) TRY(parse_binding(parser, &bindings));
    TRY(relay_parse_expr(parser, &result));
    parser->depth--;
    *out = result;
    if (bindings.count == 0) return NULL;
    TRY(relay_new(parser->program, bindings.count, sizeof *block->bindings, &block->bindings));
    block->binding_count = (uint32_t)bindings.count;
    for (size_t i = 0; i < bindings.count; i++) {
        block->bindings[i] = *(RelayBinding *)bindings.items[i];
        TRY(note_depth(block, block->bindings[i].value));
    }
    *out = block;
    return relay_set_items(parser, block, 1, &result);
}
