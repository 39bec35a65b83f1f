#include "compiler/ir/ir_tokens.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '+' || c == '-';
}

static Error *keep(IrTokens *tokens, const char *text, size_t size) {
    if (size >= IR_TOKEN_SIZE_MAX) FAIL(INVALID, "line %u: a token is too long", tokens->line);
    memcpy(tokens->text, text, size);
    tokens->text[size] = '\0';
    return NULL;
}

static Error *take_word(IrTokens *tokens, const char *from) {
    const char *end = from;
    while (is_word(*end)) end++;
    tokens->at = end;
    return keep(tokens, from, (size_t)(end - from));
}

static Error *take_string(IrTokens *tokens) {
    const char *from = tokens->at + 1, *end = strchr(from, '"');
    if (!end) FAIL(INVALID, "line %u: a string without end", tokens->line);
    tokens->kind = IR_TOKEN_STRING;
    tokens->at = end + 1;
    return keep(tokens, from, (size_t)(end - from));
}

Error *ir_tokens_next(IrTokens *tokens) {
    for (; *tokens->at && (isspace((unsigned char)*tokens->at) || *tokens->at == ';');
         tokens->at++) {
        if (*tokens->at == '\n') tokens->line++;
        if (*tokens->at != ';') continue;
        while (tokens->at[1] && tokens->at[1] != '\n') tokens->at++; /* a comment */
    }
    const char *at = tokens->at;
    tokens->start = at;
    if (*at == '\0') {
        tokens->kind = IR_TOKEN_END;
        return keep(tokens, "the end", 7);
    }
    if (*at == '"') return take_string(tokens);
    if (*at == '%' || *at == '@') {
        tokens->kind = *at == '%' ? IR_TOKEN_VARIABLE : IR_TOKEN_FUNCTION;
        return take_word(tokens, at + 1);
    }
    if (at[0] == '-' && at[1] == '>') {
        tokens->kind = IR_TOKEN_SIGN;
        tokens->at = at + 2;
        return keep(tokens, at, 2);
    }
    if (is_word(*at)) {
        double number;
        TRY(take_word(tokens, at));
        tokens->kind = text_parse_f64(tokens->text, &number) ? IR_TOKEN_NUMBER : IR_TOKEN_WORD;
        return NULL;
    }
    tokens->kind = IR_TOKEN_SIGN;
    tokens->at = at + 1;
    return keep(tokens, at, 1);
}

Error *ir_tokens_open(const char *text, IrTokens *out) {
    *out = (IrTokens){.at = text, .line = 1};
    return ir_tokens_next(out);
}

bool ir_tokens_is(const IrTokens *tokens, const char *text) {
    return (tokens->kind == IR_TOKEN_WORD || tokens->kind == IR_TOKEN_SIGN) &&
           strcmp(tokens->text, text) == 0;
}

Error *ir_tokens_take(IrTokens *tokens, const char *text, bool *out_taken) {
    *out_taken = ir_tokens_is(tokens, text);
    return *out_taken ? ir_tokens_next(tokens) : NULL;
}

Error *ir_tokens_fail(const IrTokens *tokens, const char *wanted) {
    FAIL(INVALID, "line %u: %s is wanted, not %s", tokens->line, wanted, tokens->text);
}

Error *ir_tokens_expect(IrTokens *tokens, const char *text) {
    if (!ir_tokens_is(tokens, text)) return ir_tokens_fail(tokens, text);
    return ir_tokens_next(tokens);
}

Error *ir_tokens_integer(IrTokens *tokens, int64_t *out) {
    if (tokens->kind != IR_TOKEN_NUMBER || !text_parse_i64(tokens->text, out))
        return ir_tokens_fail(tokens, "an integer");
    return ir_tokens_next(tokens);
}
