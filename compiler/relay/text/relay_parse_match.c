/* Matches and their patterns. */
#include <string.h>

#include "compiler/relay/text/relay_parser_internal.h"

static Error *parse_pattern(RelayParser *parser, RelayPattern **out);

/* Patterns between commas behind "(". */
static Error *parse_patterns(RelayParser *parser, RelayPattern *pattern) {
    RelayTokens *tokens = &parser->tokens;
    RelayItems OWN_ITEMS(items) = {0};
    bool taken;
    TRY(relay_tokens_take(tokens, ")", &taken));
    while (!taken) {
        RelayPattern *item;
        bool comma;
        if (items.count == RELAY_ITEMS_MAX) return relay_tokens_fail(tokens, "a shorter list");
        TRY(parse_pattern(parser, &item));
        TRY(relay_items_add(&items, item));
        if (item->depth >= pattern->depth) pattern->depth = item->depth + 1;
        TRY(relay_tokens_take(tokens, ",", &comma));
        TRY(relay_tokens_take(tokens, ")", &taken));
        if (!taken && !comma) return relay_tokens_fail(tokens, ")");
    }
    return relay_items_take(parser, &items, &pattern->items, &pattern->count);
}

static Error *parse_pattern_inside(RelayParser *parser, RelayPattern *pattern) {
    RelayTokens *tokens = &parser->tokens;
    bool taken;
    TRY(relay_tokens_take(tokens, "_", &taken));
    if (taken) return NULL;
    if (tokens->kind == RELAY_TOKEN_LOCAL) {
        TRY(relay_parse_local(parser, &pattern->local));
        /* %_ is nothing that anyone reads */
        if (strcmp(pattern->local->name, "_") == 0) pattern->local = NULL;
        return NULL;
    }
    TRY(relay_tokens_take(tokens, "(", &taken));
    if (taken) {
        pattern->kind = RELAY_PATTERN_TUPLE;
        return parse_patterns(parser, pattern);
    }
    if (tokens->kind != RELAY_TOKEN_NAME) return relay_tokens_fail(tokens, "a pattern");
    pattern->kind = RELAY_PATTERN_CONSTRUCTOR;
    TRY(relay_parse_text(parser, &pattern->name));
    TRY(relay_tokens_next(tokens));
    TRY(relay_tokens_take(tokens, "(", &taken));
    return taken ? parse_patterns(parser, pattern) : NULL;
}

static Error *parse_pattern(RelayParser *parser, RelayPattern **out) {
    RelayPattern *pattern;
    TRY(relay_parse_enter(parser));
    TRY(relay_new(parser->program, 1, sizeof *pattern, &pattern));
    pattern->place = parser->tokens.place;
    pattern->depth = 1;
    TRY(parse_pattern_inside(parser, pattern));
    parser->depth--;
    *out = pattern;
    return NULL;
}

/* One arm: PATTERN => expression, or => { block }. */
static Error *parse_arm(RelayParser *parser, RelayItems *patterns, RelayItems *bodies) {
    RelayTokens *tokens = &parser->tokens;
    RelayPattern *pattern;
    RelayExpr *body;
    bool taken;
    if (patterns->count == RELAY_ITEMS_MAX) return relay_tokens_fail(tokens, "fewer arms");
    TRY(parse_pattern(parser, &pattern));
    TRY(relay_items_add(patterns, pattern));
    TRY(relay_tokens_expect(tokens, "=>"));
    TRY(relay_tokens_take(tokens, "{", &taken));
    if (taken) {
        TRY(relay_parse_block(parser, &body));
        TRY(relay_tokens_expect(tokens, "}"));
    } else {
        TRY(relay_parse_expr(parser, &body));
    }
    return relay_items_add(bodies, body);
}

Error *relay_parse_match(RelayParser *parser, RelayPlace place, RelayExpr **out) {
    RelayTokens *tokens = &parser->tokens;
    RelayItems OWN_ITEMS(patterns) = {0};
    RelayItems OWN_ITEMS(bodies) = {0};
    RelayExpr *expr, *value;
    bool taken;
    TRY(relay_make_expr(parser, RELAY_MATCH, place, &expr));
    TRY(relay_tokens_take(tokens, "?", &expr->partial));
    TRY(relay_tokens_expect(tokens, "("));
    TRY(relay_parse_expr(parser, &value));
    TRY(relay_items_add(&bodies, value));
    TRY(relay_tokens_expect(tokens, ")"));
    TRY(relay_tokens_expect(tokens, "{"));
    TRY(relay_tokens_take(tokens, "}", &taken));
    while (!taken) {
        bool comma;
        TRY(parse_arm(parser, &patterns, &bodies));
        TRY(relay_tokens_take(tokens, ",", &comma));
        TRY(relay_tokens_take(tokens, "}", &taken));
    }
    if (patterns.count == 0) FAIL(INVALID, RELAY_AT ": a match has no arms", RELAY_PLACE(place));
    for (size_t i = 0; i < patterns.count; i++) {
        const RelayPattern *pattern = patterns.items[i];
        if (pattern->depth > RELAY_NESTING_MAX)
            FAIL(INVALID, RELAY_AT ": patterns are nested deeper than %d",
                RELAY_PLACE(pattern->place), RELAY_NESTING_MAX);
    }
    TRY(relay_items_take(parser, &patterns, &expr->patterns, &expr->pattern_count));
    TRY(relay_set_items(parser, expr, (uint32_t)bodies.count, (RelayExpr *const *)bodies.items));
    *out = expr;
    return NULL;
}
