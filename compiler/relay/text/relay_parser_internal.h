#pragma once
/* The parts that the files of the Relay parser share. Threads: one at a time per parser. */
#include "compiler/relay/text/relay_tokens.h"
#include "compiler/relay/text/relay_tree.h"

/* A list that grows in plain memory, then is copied into the arena. */
typedef struct RelayItems {
    void **items;
    size_t count, capacity;
} RelayItems;

typedef struct RelayParser {
    RelayTokens tokens;
    RelayProgram *program;
    uint32_t depth;         /* of the parser's own recursion */
    RelayItems free_locals; /* free_var lines of a program that is one expression */
} RelayParser;

MUST_CHECK Error *relay_items_add(RelayItems *items, void *item);
void relay_items_deinit(RelayItems *items);
#define OWN_ITEMS(name) __attribute__((cleanup(relay_items_deinit))) name
/* Copies the list into the arena. */
MUST_CHECK Error *relay_items_take(
    RelayParser *parser, RelayItems *items, void *out_array, uint32_t *out_count);

/* Copies a token's text into the arena. */
MUST_CHECK Error *relay_parse_text(RelayParser *parser, const char **out);
/* Enters one level of nesting. The caller leaves it by parser->depth--. */
MUST_CHECK Error *relay_parse_enter(RelayParser *parser);

/* relay_parse_types.c */
MUST_CHECK Error *relay_parse_type(RelayParser *parser, RelayTypeText **out);
/* "[A, B]", or nothing. */
MUST_CHECK Error *relay_parse_type_parameters(
    RelayParser *parser, const char ***out_names, uint32_t *out_count);
/* "%x" with the type behind it, if any. */
MUST_CHECK Error *relay_parse_local(RelayParser *parser, RelayLocal **out);

/* relay_parse_expr.c */
MUST_CHECK Error *relay_parse_expr(RelayParser *parser, RelayExpr **out);
/* Bindings, then an expression. */
MUST_CHECK Error *relay_parse_block(RelayParser *parser, RelayExpr **out);
/* What stands behind "fn" or a function's name: [A](%x: T) -> T { body }. */
MUST_CHECK Error *relay_parse_function(RelayParser *parser, RelayPlace place, RelayExpr **out);
MUST_CHECK Error *relay_make_expr(
    RelayParser *parser, RelayKind kind, RelayPlace place, RelayExpr **out);
/* Sets the parts of an expression; count 0: none. */
MUST_CHECK Error *relay_set_items(
    RelayParser *parser, RelayExpr *expr, uint32_t count, RelayExpr *const *items);

/* relay_parse_match.c */
MUST_CHECK Error *relay_parse_match(RelayParser *parser, RelayPlace place, RelayExpr **out);

/* relay_parse_values.c */
MUST_CHECK Error *relay_parse_value(RelayParser *parser, RelayValue *out);
/* A number with its sign, True or False; *out_found: false if there is none. */
MUST_CHECK Error *relay_parse_constant(RelayParser *parser, RelayExpr **out, bool *out_found);
