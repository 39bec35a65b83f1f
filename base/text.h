#pragma once
/* Text: a growing builder, strict number parsing, names, hexadecimal. Used by every folder. Pure:
 * no shared state; a builder one thread at a time. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A growing NUL-terminated string; failed writes are remembered like ByteWriter's. */
typedef struct TextBuilder {
    char *data; /* NULL until the first write; use text_builder_get */
    size_t size;
    size_t capacity;
    int failed;
} TextBuilder;

void text_builder_deinit(TextBuilder *builder);
void text_append(TextBuilder *builder, const char *text);
void text_append_bytes(TextBuilder *builder, const char *text, size_t size);
void text_appendf(TextBuilder *builder, const char *format, ...) PRINTF_LIKE(2, 3);
/* "" while empty. Borrowed until the next write. */
const char *text_builder_get(const TextBuilder *builder);
MUST_CHECK Error *text_builder_check(const TextBuilder *builder);
/* Moves the string out; release with memory_free. */
MUST_CHECK Error *text_builder_take(TextBuilder *builder, char **out);
#define OWN_TEXT(name) __attribute__((cleanup(text_builder_deinit))) name

/* Parses a text that must be one decimal (or 0x) integer in range. Returns false otherwise, and
 * leaves *out unchanged. */
bool text_parse_i64(const char *text, int64_t *out);
bool text_parse_u64(const char *text, uint64_t *out);
/* Parses a text that must be one number; accepts "inf", "-inf", "nan" and hexadecimal floats. */
bool text_parse_f64(const char *text, double *out);

bool text_is_utf8(const char *text, size_t size);
/* Matches [A-Za-z0-9][A-Za-z0-9._-]{0,63}: models, aliases, tenants, nodes. */
bool text_is_name(const char *text);
bool text_starts_with(const char *text, const char *prefix);
bool text_ends_with(const char *text, const char *suffix);
/* Writes lower-case hexadecimal; out has room for 2 * size + 1. */
void text_hex(const uint8_t *bytes, size_t size, char *out);
/* Parses hexadecimal; returns false unless text is exactly 2 * size hexadecimal digits. */
bool text_parse_hex(const char *text, uint8_t *out, size_t size);
