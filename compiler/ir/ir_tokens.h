#pragma once
/* Tokens of the IR's text. Callers: ir_parse.c, ir_parse_value.c. Threads: one at a time per text.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum { IR_TOKEN_SIZE_MAX = 256 };

typedef enum IrTokenKind {
    IR_TOKEN_END,
    IR_TOKEN_WORD,     /* Add, float32, _, ... */
    IR_TOKEN_NUMBER,   /* 7, -0.5, inf */
    IR_TOKEN_VARIABLE, /* %7 */
    IR_TOKEN_FUNCTION, /* @main, @loop.1 */
    IR_TOKEN_STRING,
    IR_TOKEN_SIGN, /* ( ) { } [ ] , : = ? # or -> */
} IrTokenKind;

typedef struct IrTokens {
    const char *at;    /* first byte behind the current token */
    const char *start; /* first byte of the current token */
    uint32_t line;
    IrTokenKind kind;
    char text[IR_TOKEN_SIZE_MAX]; /* without quotes, % and @ */
} IrTokens;

MUST_CHECK Error *ir_tokens_open(const char *text, IrTokens *out);
MUST_CHECK Error *ir_tokens_next(IrTokens *tokens);
bool ir_tokens_is(const IrTokens *tokens, const char *text);
/* Moves to the next token when the current one is that sign or word. */
MUST_CHECK Error *ir_tokens_take(IrTokens *tokens, const char *text, bool *out_taken);
MUST_CHECK Error *ir_tokens_expect(IrTokens *tokens, const char *text);
MUST_CHECK Error *ir_tokens_integer(IrTokens *tokens, int64_t *out);
MUST_CHECK Error *ir_tokens_fail(const IrTokens *tokens, const char *wanted);
