#include "compiler/relay/text/relay_tokens.h"

#include <string.h>

#include "base/text.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_word(char c) { return is_letter(c) || is_digit(c); }

static char peek(const RelayTokens *tokens, size_t ahead) {
    return ahead < (size_t)(tokens->end - tokens->at) ? tokens->at[ahead] : '\0';
}

static void mark(RelayTokens *tokens) {
    tokens->place.column = (uint32_t)(tokens->at - tokens->line_start) + 1;
}

static void new_line(RelayTokens *tokens) {
    tokens->place.line++;
    tokens->line_start = tokens->at + 1;
}

static Error *skip_comment(RelayTokens *tokens) {
    mark(tokens);
    const RelayPlace place = tokens->place;
    uint32_t depth = 0;
    for (;;) {
        if (tokens->at == tokens->end)
            FAIL(INVALID, RELAY_AT ": a comment has no end", RELAY_PLACE(place));
        const bool opens = peek(tokens, 0) == '/' && peek(tokens, 1) == '*';
        const bool closes = peek(tokens, 0) == '*' && peek(tokens, 1) == '/';
        if (*tokens->at == '\n') new_line(tokens);
        tokens->at += opens || closes ? 2 : 1;
        if (opens) depth++;
        if (closes && --depth == 0) return NULL;
    }
}

static Error *skip_space(RelayTokens *tokens) {
    while (tokens->at < tokens->end) {
        const char c = *tokens->at;
        if (c == '\n') new_line(tokens);
        if (c == '/' && peek(tokens, 1) == '*') {
            TRY(skip_comment(tokens));
        } else if (c == '/' && peek(tokens, 1) == '/') {
            while (tokens->at < tokens->end && *tokens->at != '\n') tokens->at++;
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
            tokens->at++;
        } else {
            break;
        }
    }
    return NULL;
}

static Error *keep(RelayTokens *tokens, const char *text, size_t size) {
    if (size > RELAY_NAME_SIZE_MAX)
        FAIL(INVALID, RELAY_AT ": a word of more than %d bytes", RELAY_PLACE(tokens->place),
            RELAY_NAME_SIZE_MAX);
    memcpy(tokens->text, text, size);
    tokens->text[size] = '\0';
    tokens->size = size;
    return NULL;
}

/* A word; dots between words belong to it, and so do dots before letters behind % and @. */
static Error *take_word(RelayTokens *tokens, size_t skipped) {
    tokens->at += skipped;
    const char *from = tokens->at;
    while (is_word(peek(tokens, 0)) || (peek(tokens, 0) == '.' && is_letter(peek(tokens, 1))))
        tokens->at++;
    if (tokens->at == from && (unsigned char)peek(tokens, 0) >= 0x80)
        FAIL(INVALID,
            RELAY_AT
            ": a name has letters from a to z, digits, _ and dots, and not the byte 0x%02x",
            RELAY_PLACE(tokens->place), (unsigned)(unsigned char)peek(tokens, 0));
    if (tokens->at == from)
        FAIL(
            INVALID, RELAY_AT ": a name is wanted behind %c", RELAY_PLACE(tokens->place), from[-1]);
    return keep(tokens, from, (size_t)(tokens->at - from));
}

/* The version in front of programs of old printers: v0.0.4 */
static bool is_old_version(const RelayTokens *tokens) {
    return peek(tokens, 0) == 'v' && is_digit(peek(tokens, 1)) && peek(tokens, 2) == '.';
}

static Error *take_string(RelayTokens *tokens) {
    const char *from = ++tokens->at;
    tokens->kind = RELAY_TOKEN_STRING;
    while (tokens->at < tokens->end && *tokens->at != '"' && *tokens->at != '\n') {
        if (*tokens->at == '\\' && tokens->end - tokens->at > 1 && tokens->at[1] != '\n')
            tokens->at++;
        tokens->at++;
    }
    if (peek(tokens, 0) != '"')
        FAIL(INVALID, RELAY_AT ": a string has no end", RELAY_PLACE(tokens->place));
    tokens->at++;
    TRY(keep(tokens, from, (size_t)(tokens->at - 1 - from)));
    size_t to = 0;
    for (size_t i = 0; i < tokens->size; i++) {
        char c = tokens->text[i];
        if (c == '\\' && i + 1 < tokens->size) {
            c = tokens->text[++i];
            c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
        }
        tokens->text[to++] = c;
    }
    tokens->text[to] = '\0';
    tokens->size = to;
    return NULL;
}

/* The element type behind a number's digits: f, f16, i64, u8; nothing: int32 or float32. */
static Error *take_suffix(RelayTokens *tokens) {
    static const struct {
        const char *text;
        DType dtype;
    } suffixes[] = {{"f", DTYPE_FLOAT32}, {"f16", DTYPE_FLOAT16}, {"h", DTYPE_FLOAT16},
        {"f32", DTYPE_FLOAT32}, {"f64", DTYPE_FLOAT64}, {"i8", DTYPE_INT8}, {"i16", DTYPE_INT16},
        {"i32", DTYPE_INT32}, {"i64", DTYPE_INT64}, {"u8", DTYPE_UINT8}, {"u16", DTYPE_UINT16},
        {"u32", DTYPE_UINT32}, {"u64", DTYPE_UINT64}};
    const char *from = tokens->at;
    while (is_word(peek(tokens, 0))) tokens->at++;
    const size_t size = (size_t)(tokens->at - from);
    if (size == 0) return NULL;
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        if (strlen(suffixes[i].text) != size || memcmp(from, suffixes[i].text, size) != 0) continue;
        tokens->dtype = suffixes[i].dtype;
        if (dtype_is_float(tokens->dtype)) tokens->kind = RELAY_TOKEN_FLOAT;
        if (tokens->kind == RELAY_TOKEN_FLOAT && !dtype_is_float(tokens->dtype)) break;
        return NULL;
    }
    FAIL(INVALID,
        RELAY_AT ": %.*s is no suffix of a number; there are f, f16, f64, i64, u8 and others",
        RELAY_PLACE(tokens->place), (int)(size < 40 ? size : 40), from);
}

static Error *take_number(RelayTokens *tokens) {
    const char *from = tokens->at;
    tokens->kind = RELAY_TOKEN_INT;
    while (is_digit(peek(tokens, 0))) tokens->at++;
    if (!tokens->behind_dot) {
        if (peek(tokens, 0) == '.' && !is_letter(peek(tokens, 1))) {
            tokens->kind = RELAY_TOKEN_FLOAT;
            tokens->at++;
            while (is_digit(peek(tokens, 0))) tokens->at++;
        }
        const bool sign = peek(tokens, 1) == '-' || peek(tokens, 1) == '+';
        if (peek(tokens, 0) == 'e' && is_digit(peek(tokens, sign ? 2 : 1))) {
            tokens->kind = RELAY_TOKEN_FLOAT;
            tokens->at += sign ? 2 : 1;
            while (is_digit(peek(tokens, 0))) tokens->at++;
        }
    }
    TRY(keep(tokens, from, (size_t)(tokens->at - from)));
    tokens->dtype = tokens->kind == RELAY_TOKEN_INT ? DTYPE_INT32 : DTYPE_FLOAT32;
    if (!tokens->behind_dot) TRY(take_suffix(tokens));
    uint64_t bits = 0;
    if (!text_parse_f64(tokens->text, &tokens->number) ||
        (tokens->kind == RELAY_TOKEN_INT && !text_parse_u64(tokens->text, &bits)))
        FAIL(INVALID, RELAY_AT ": %s is no number that fits 64 bits", RELAY_PLACE(tokens->place),
            tokens->text);
    tokens->integer = (int64_t)bits;
    return NULL;
}

static Error *take_sign(RelayTokens *tokens) {
    static const char *const pairs[] = {"->", "=>", "==", "!=", "<=", ">="};
    size_t size = 1;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (peek(tokens, 0) == pairs[i][0] && peek(tokens, 1) == pairs[i][1]) size = 2;
    const char c = *tokens->at;
    if (!strchr("(){}[],;:.=+-*/<>?!#", c) || c == '\0')
        FAIL(INVALID, RELAY_AT ": the byte 0x%02x begins nothing", RELAY_PLACE(tokens->place),
            (unsigned)(unsigned char)c);
    tokens->kind = RELAY_TOKEN_SIGN;
    tokens->at += size;
    return keep(tokens, tokens->at - size, size);
}

Error *relay_tokens_next(RelayTokens *tokens) {
    tokens->behind_dot = relay_tokens_is(tokens, ".");
    TRY(skip_space(tokens));
    mark(tokens);
    if (tokens->at == tokens->end) {
        tokens->kind = RELAY_TOKEN_END;
        return keep(tokens, "the end", 7);
    }
    const char c = *tokens->at;
    if (c == '"') return take_string(tokens);
    if (c == '%' || c == '@') {
        tokens->kind = c == '%' ? RELAY_TOKEN_LOCAL : RELAY_TOKEN_GLOBAL;
        return take_word(tokens, 1);
    }
    if (is_digit(c)) return take_number(tokens);
    tokens->kind = RELAY_TOKEN_NAME;
    if (is_old_version(tokens)) {
        const char *from = tokens->at;
        while (is_word(peek(tokens, 0)) || peek(tokens, 0) == '.') tokens->at++;
        return keep(tokens, from, (size_t)(tokens->at - from));
    }
    return is_letter(c) ? take_word(tokens, 0) : take_sign(tokens);
}

size_t relay_mark_size(const char *text, size_t size) {
    static const char mark[] = "\xef\xbb\xbf";
    return size >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
}

Error *relay_tokens_open(const char *source, const char *text, size_t size, RelayTokens *out) {
    if (size > RELAY_SIZE_MAX)
        FAIL(TOO_LARGE, "a Relay program of %zu bytes; at most %d are read", size, RELAY_SIZE_MAX);
    *out = (RelayTokens){.at = text,
        .end = text + size,
        .line_start = text,
        .kind = RELAY_TOKEN_END,
        .place = {.source = source, .line = 1, .column = 1}};
    static const char wide[][2] = {{'\xff', '\xfe'}, {'\xfe', '\xff'}};
    for (size_t i = 0; i < 2; i++)
        if (size >= 2 && memcmp(text, wide[i], 2) == 0)
            FAIL(INVALID, RELAY_AT ": the program begins as UTF-16 does; programs are UTF-8",
                RELAY_PLACE(out->place));
    const size_t mark_size = relay_mark_size(text, size);
    out->at += mark_size;
    out->line_start += mark_size;
    return relay_tokens_next(out);
}

bool relay_tokens_is(const RelayTokens *tokens, const char *text) {
    return (tokens->kind == RELAY_TOKEN_NAME || tokens->kind == RELAY_TOKEN_SIGN) &&
           strcmp(tokens->text, text) == 0;
}

Error *relay_tokens_take(RelayTokens *tokens, const char *text, bool *out_taken) {
    *out_taken = relay_tokens_is(tokens, text);
    return *out_taken ? relay_tokens_next(tokens) : NULL;
}

Error *relay_tokens_expect(RelayTokens *tokens, const char *text) {
    if (!relay_tokens_is(tokens, text)) return relay_tokens_fail(tokens, text);
    return relay_tokens_next(tokens);
}

bool relay_tokens_assigns(const RelayTokens *tokens) {
    RelayTokens copy = *tokens;
    Error *error = skip_space(&copy);
    const bool found =
        !error && peek(&copy, 0) == '=' && peek(&copy, 1) != '=' && peek(&copy, 1) != '>';
    error_free(error); /* reading on finds the same fault */
    return found;
}

Error *relay_tokens_fail(const RelayTokens *tokens, const char *wanted) {
    static const char *const marks[] = {[RELAY_TOKEN_LOCAL] = "%", [RELAY_TOKEN_GLOBAL] = "@"};
    const bool marked = tokens->kind == RELAY_TOKEN_LOCAL || tokens->kind == RELAY_TOKEN_GLOBAL;
    const bool text = text_is_utf8(tokens->text, tokens->size);
    FAIL(INVALID, RELAY_AT ": %s is wanted, not %s%.60s", RELAY_PLACE(tokens->place), wanted,
        marked ? marks[tokens->kind] : "", text ? tokens->text : "bytes that are no text");
}
