#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocator.h"

void text_builder_deinit(TextBuilder *builder) {
    memory_free(builder->data);
    *builder = (TextBuilder){0};
}

static bool text_reserve(TextBuilder *builder, size_t more) {
    if (builder->failed || more > SIZE_MAX / 4) {
        builder->failed = 1;
        return false;
    }
    size_t needed = builder->size + more + 1;
    if (needed <= builder->capacity) return true;
    size_t capacity = builder->capacity ? builder->capacity : 64;
    while (capacity < needed) capacity *= 2;
    void *grown = builder->data;
    Error *error = memory_resize(&grown, capacity, 1);
    if (error) {
        error_free(error); /* reported by text_builder_check */
        builder->failed = 1;
        return false;
    }
    builder->data = grown;
    builder->capacity = capacity;
    return true;
}

void text_append_bytes(TextBuilder *builder, const char *text, size_t size) {
    if (!text_reserve(builder, size)) return;
    if (size) memcpy(builder->data + builder->size, text, size);
    builder->size += size;
    builder->data[builder->size] = 0;
}

void text_append(TextBuilder *builder, const char *text) {
    text_append_bytes(builder, text, strlen(text));
}

void text_appendf(TextBuilder *builder, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0)
        builder->failed = 1;
    else if (text_reserve(builder, (size_t)length)) {
        (void)vsnprintf(builder->data + builder->size, (size_t)length + 1, format, again);
        builder->size += (size_t)length;
    }
    va_end(again);
}

const char *text_builder_get(const TextBuilder *builder) {
    return builder->data ? builder->data : "";
}

Error *text_builder_check(const TextBuilder *builder) {
    if (builder->failed)
        FAIL(OUT_OF_MEMORY, "no memory for a text beyond %zu bytes", builder->size);
    return NULL;
}

Error *text_builder_take(TextBuilder *builder, char **out) {
    text_append_bytes(builder, "", 0); /* even an empty text is a string */
    TRY(text_builder_check(builder));
    *out = builder->data;
    *builder = (TextBuilder){0};
    return NULL;
}

static bool starts_like_number(const char *text) {
    const char *digits = text[0] == '-' || text[0] == '+' ? text + 1 : text;
    return digits[0] >= '0' && digits[0] <= '9';
}

bool text_parse_i64(const char *text, int64_t *out) {
    if (!starts_like_number(text)) return false;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, text_starts_with(text, "0x") ? 16 : 10);
    if (errno || *end) return false;
    *out = value;
    return true;
}

bool text_parse_u64(const char *text, uint64_t *out) {
    if (!starts_like_number(text) || text[0] == '-') return false;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, text_starts_with(text, "0x") ? 16 : 10);
    if (errno || *end) return false;
    *out = value;
    return true;
}

bool text_parse_f64(const char *text, double *out) {
    if (!text[0] || text[0] == ' ') return false;
    char *end;
    double value = strtod(text, &end);
    if (*end || end == text) return false;
    *out = value;
    return true;
}

/* Well-formed sequences of RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF; no
 * NUL. */
bool text_is_utf8(const char *text, size_t size) {
    const unsigned char *s = (const unsigned char *)text;
    for (size_t i = 0; i < size;) {
        unsigned char lead = s[i];
        size_t length = lead < 0x80   ? 1
                        : lead < 0xc2 ? 0
                        : lead < 0xe0 ? 2
                        : lead < 0xf0 ? 3
                        : lead < 0xf5 ? 4
                                      : 0;
        if (lead == 0 || length == 0 || length > size - i) return false;
        for (size_t k = 1; k < length; k++)
            if ((s[i + k] & 0xc0) != 0x80) return false;
        if ((lead == 0xe0 && s[i + 1] < 0xa0) || (lead == 0xed && s[i + 1] >= 0xa0) ||
            (lead == 0xf0 && s[i + 1] < 0x90) || (lead == 0xf4 && s[i + 1] >= 0x90))
            return false;
        i += length;
    }
    return true;
}

static bool is_name_start(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool text_is_name(const char *text) {
    if (!is_name_start(text[0])) return false;
    size_t length = 1;
    for (; text[length]; length++) {
        char c = text[length];
        if (length >= 64 || !(is_name_start(c) || c == '.' || c == '_' || c == '-')) return false;
    }
    return length <= 64;
}

bool text_starts_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends_with(const char *text, const char *suffix) {
    size_t length = strlen(text), tail = strlen(suffix);
    return length >= tail && strcmp(text + length - tail, suffix) == 0;
}

void text_hex(const uint8_t *bytes, size_t size, char *out) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * size] = 0;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool text_parse_hex(const char *text, uint8_t *out, size_t size) {
    if (strlen(text) != 2 * size) return false;
    for (size_t i = 0; i < 2 * size; i++)
        if (hex_digit(text[i]) < 0) return false;
    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)(hex_digit(text[2 * i]) << 4 | hex_digit(text[2 * i + 1]));
    return true;
}
