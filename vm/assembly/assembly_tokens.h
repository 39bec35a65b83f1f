#pragma once
/* Cuts assembly text into tokens, one ahead of the parser. Called by the files of vm/assembly/.
 * Pure: a Tokens belongs to its caller. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

typedef enum TokenKind {
    TOKEN_WORD,   /* letters, digits, '_' and '.', a letter or '_' first */
    TOKEN_NUMBER, /* sign, digits, letters and '.'; the reader of the token interprets it */
    TOKEN_STRING, /* with its quotes */
    TOKEN_HEX,    /* x"...", with its quotes */
    TOKEN_MARK,   /* one of ( ) [ ] { } , : = @ % & ! * ? or "->" or "=>" */
    TOKEN_NEWLINE,
    TOKEN_END,
} TokenKind;

typedef struct Token {
    TokenKind kind;
    const char *start;
    size_t size;
    uint32_t line;
} Token;

typedef struct Tokens {
    const char *at; /* of NUL-terminated text */
    uint32_t line;
    Token token; /* the present token */
} Tokens;

MUST_CHECK Error *tokens_start(const char *text, uint32_t line, Tokens *out);
/* Errors: INVALID "line 3: …". */
MUST_CHECK Error *tokens_next(Tokens *tokens);
/* Skips newlines, which have a meaning only in code. */
MUST_CHECK Error *tokens_skip_newlines(Tokens *tokens);
bool tokens_at(const Tokens *tokens, const char *text);
/* Skips the mark or word if it is the present token. */
MUST_CHECK Error *tokens_accept(Tokens *tokens, const char *text, bool *out_accepted);
MUST_CHECK Error *tokens_expect(Tokens *tokens, const char *text);
/* Returns the error "line 3: … before 'x'". */
MUST_CHECK Error *tokens_fail(const Tokens *tokens, const char *expected);
MUST_CHECK Error *tokens_read_i64(Tokens *tokens, int64_t *out);
/* Copies, NUL-terminated, freed by memory_free: the present token unchanged; or a string without
 * quotes and escapes. */
MUST_CHECK Error *tokens_copy(const Tokens *tokens, char **out);
MUST_CHECK Error *tokens_read_string(Tokens *tokens, TextBuilder *out);
/* Reads a word, or a quoted string. */
MUST_CHECK Error *tokens_read_name(Tokens *tokens, TextBuilder *out);
