#include "vm/assembly/assembly_tokens.h"

#include <stdio.h>
#include <string.h>

#include "base/allocator.h"

enum { SHOWN_MAX = 40, NUMBER_SIZE_MAX = 64 };

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

Error *tokens_fail(const Tokens *tokens, const char *expected) {
    const Token *token = &tokens->token;
    if (token->kind == TOKEN_END)
        FAIL(INVALID, "line %u: %s before the end", token->line, expected);
    if (token->kind == TOKEN_NEWLINE)
        FAIL(INVALID, "line %u: %s before the end of the line", token->line, expected);
    int size = token->size > SHOWN_MAX ? SHOWN_MAX : (int)token->size;
    FAIL(INVALID, "line %u: %s before '%.*s'", token->line, expected, size, token->start);
}

static Error *scan_string(Tokens *tokens, const char *start, TokenKind kind) {
    const char *at = start + (kind == TOKEN_HEX ? 2 : 1);
    for (; *at != '"'; at++) {
        if (*at == '\\' && at[1]) at++;
        if (*at == '\0' || *at == '\n')
            FAIL(INVALID, "line %u: a string without end", tokens->line);
    }
    tokens->token = (Token){kind, start, (size_t)(at + 1 - start), tokens->line};
    tokens->at = at + 1;
    return NULL;
}

static void scan_run(Tokens *tokens, const char *start, TokenKind kind) {
    const char *at = start + 1;
    for (;; at++) {
        bool exponent_sign = kind == TOKEN_NUMBER && (*at == '-' || *at == '+') &&
                             (at[-1] == 'e' || at[-1] == 'E' || at[-1] == 'p' || at[-1] == 'P');
        if (!is_letter(*at) && !is_digit(*at) && *at != '.' && !exponent_sign) break;
    }
    tokens->token = (Token){kind, start, (size_t)(at - start), tokens->line};
    tokens->at = at;
}

Error *tokens_next(Tokens *tokens) {
    const char *at = tokens->at;
    while (*at == ' ' || *at == '\t' || *at == '\r') at++;
    if (*at == '#') at += strcspn(at, "\n");
    Token token = {TOKEN_MARK, at, 1, tokens->line};
    if (*at == '\0') {
        token.kind = TOKEN_END;
        token.size = 0;
    } else if (*at == '\n') {
        token.kind = TOKEN_NEWLINE;
        tokens->line++;
    } else if (*at == 'x' && at[1] == '"') {
        return scan_string(tokens, at, TOKEN_HEX);
    } else if (*at == '"') {
        return scan_string(tokens, at, TOKEN_STRING);
    } else if ((*at == '-' || *at == '=') && at[1] == '>') {
        token.size = 2;
    } else if (is_letter(*at)) {
        scan_run(tokens, at, TOKEN_WORD);
        return NULL;
    } else if (is_digit(*at) || *at == '-' || *at == '+') {
        scan_run(tokens, at, TOKEN_NUMBER);
        return NULL;
    } else if (!strchr("()[]{},:=@%&!*?", *at)) {
        FAIL(INVALID, "line %u: a character (0x%02x) that means nothing", tokens->line,
            (unsigned char)*at);
    }
    tokens->token = token;
    tokens->at = at + token.size;
    return NULL;
}

Error *tokens_start(const char *text, uint32_t line, Tokens *out) {
    *out = (Tokens){.at = text, .line = line};
    return tokens_next(out);
}

Error *tokens_skip_newlines(Tokens *tokens) {
    while (tokens->token.kind == TOKEN_NEWLINE) TRY(tokens_next(tokens));
    return NULL;
}

bool tokens_at(const Tokens *tokens, const char *text) {
    const Token *token = &tokens->token;
    if (token->kind != TOKEN_WORD && token->kind != TOKEN_MARK) return false;
    return strlen(text) == token->size && memcmp(text, token->start, token->size) == 0;
}

Error *tokens_accept(Tokens *tokens, const char *text, bool *out_accepted) {
    bool here = tokens_at(tokens, text);
    if (here) TRY(tokens_next(tokens));
    *out_accepted = here;
    return NULL;
}

Error *tokens_expect(Tokens *tokens, const char *text) {
    bool accepted;
    TRY(tokens_accept(tokens, text, &accepted));
    if (accepted) return NULL;
    char expected[32];
    (void)snprintf(expected, sizeof expected, "'%s' is missing", text);
    return tokens_fail(tokens, expected);
}

Error *tokens_copy(const Tokens *tokens, char **out) {
    void *copy;
    TRY(memory_alloc(tokens->token.size + 1, 1, &copy));
    memcpy(copy, tokens->token.start, tokens->token.size);
    *out = copy;
    return NULL;
}

Error *tokens_read_i64(Tokens *tokens, int64_t *out) {
    char text[NUMBER_SIZE_MAX];
    const Token *token = &tokens->token;
    if (token->kind != TOKEN_NUMBER || token->size >= sizeof text)
        return tokens_fail(tokens, "a number is missing");
    memcpy(text, token->start, token->size);
    text[token->size] = '\0';
    int64_t value;
    if (!text_parse_i64(text, &value)) return tokens_fail(tokens, "an integer is missing");
    *out = value;
    return tokens_next(tokens);
}

static int hex_digit(char c) {
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

Error *tokens_read_string(Tokens *tokens, TextBuilder *out) {
    const Token *token = &tokens->token;
    if (token->kind != TOKEN_STRING) return tokens_fail(tokens, "a string is missing");
    const char *end = token->start + token->size - 1;
    for (const char *at = token->start + 1; at < end; at++) {
        char c = *at;
        if (c == '\\') {
            c = *++at;
            if (c == 'n') {
                c = '\n';
            } else if (c == 'x') {
                int high = end - at > 2 ? hex_digit(at[1]) : -1;
                int low = high >= 0 ? hex_digit(at[2]) : -1;
                if (low < 0) return tokens_fail(tokens, "\\x needs two hexadecimal digits");
                c = (char)(high * 16 + low);
                at += 2;
            } else if (c != '"' && c != '\\') {
                return tokens_fail(tokens, "escapes are \\\" \\\\ \\n \\xHH");
            }
        }
        text_append_bytes(out, &c, 1);
    }
    TRY(text_builder_check(out));
    return tokens_next(tokens);
}

Error *tokens_read_name(Tokens *tokens, TextBuilder *out) {
    if (tokens->token.kind == TOKEN_STRING) return tokens_read_string(tokens, out);
    if (tokens->token.kind != TOKEN_WORD) return tokens_fail(tokens, "a name is missing");
    text_append_bytes(out, tokens->token.start, tokens->token.size);
    TRY(text_builder_check(out));
    return tokens_next(tokens);
}
