#pragma once
/* Cuts the text of a Relay program into tokens. Caller: relay_parse.c. Pure: no state, any thread.
 *
 * Comments and white space are skipped. The text may hold any bytes. */
#include "compiler/relay/text/relay_tree.h"

typedef enum RelayTokenKind {
    RELAY_TOKEN_END,
    RELAY_TOKEN_LOCAL,  /* %x; the text is x */
    RELAY_TOKEN_GLOBAL, /* @f; the text is f */
    RELAY_TOKEN_NAME,   /* words, with dots: nn.dense */
    RELAY_TOKEN_INT,
    RELAY_TOKEN_FLOAT,
    RELAY_TOKEN_STRING,
    RELAY_TOKEN_SIGN,
} RelayTokenKind;

typedef struct RelayTokens {
    const char *at, *end; /* what is left */
    const char *line_start;
    RelayPlace place; /* of the token */
    RelayTokenKind kind;
    bool behind_dot; /* the token before was ".": digits are an index */
    DType dtype;     /* of a number, by its suffix */
    int64_t integer;
    double number;
    size_t size;
    char text[RELAY_NAME_SIZE_MAX + 1];
} RelayTokens;

/* The size of the mark with which some editors begin UTF-8, or 0. */
size_t relay_mark_size(const char *text, size_t size);
/* source: NULL, or the name of the source for messages. */
MUST_CHECK Error *relay_tokens_open(
    const char *source, const char *text, size_t size, RelayTokens *out);
MUST_CHECK Error *relay_tokens_next(RelayTokens *tokens);
/* Whether the token is that word or sign. */
bool relay_tokens_is(const RelayTokens *tokens, const char *text);
MUST_CHECK Error *relay_tokens_take(RelayTokens *tokens, const char *text, bool *out_taken);
MUST_CHECK Error *relay_tokens_expect(RelayTokens *tokens, const char *text);
/* Whether the sign "=" stands behind the token. */
bool relay_tokens_assigns(const RelayTokens *tokens);
/* Errors: INVALID "line 3, column 5: WANTED is wanted, not …". */
MUST_CHECK Error *relay_tokens_fail(const RelayTokens *tokens, const char *wanted);
