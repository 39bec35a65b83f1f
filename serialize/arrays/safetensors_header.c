#include "serialize/arrays/safetensors_header.h"

#include <string.h>

#include "base/allocator.h"
#include "base/text.h"

static const struct {
    const char *text;
    DType dtype;
} names[] = {
    {"BOOL", DTYPE_BOOL},
    {"U8", DTYPE_UINT8},
    {"I8", DTYPE_INT8},
    {"F8_E5M2", DTYPE_FLOAT8E5M2},
    {"F8_E4M3", DTYPE_FLOAT8E4M3FN},
    {"F8_E8M0", DTYPE_FLOAT8E8M0},
    {"I16", DTYPE_INT16},
    {"U16", DTYPE_UINT16},
    {"F16", DTYPE_FLOAT16},
    {"BF16", DTYPE_BFLOAT16},
    {"I32", DTYPE_INT32},
    {"U32", DTYPE_UINT32},
    {"F32", DTYPE_FLOAT32},
    {"F64", DTYPE_FLOAT64},
    {"I64", DTYPE_INT64},
    {"U64", DTYPE_UINT64},
};
enum { NAME_COUNT = sizeof names / sizeof *names };

const char *safetensors_header_dtype_name(DType dtype) {
    for (int i = 0; i < NAME_COUNT; i++)
        if (names[i].dtype == dtype) return names[i].text;
    return NULL;
}

DType safetensors_header_find_dtype(const char *text) {
    for (int i = 0; i < NAME_COUNT; i++)
        if (strcmp(names[i].text, text) == 0) return names[i].dtype;
    return DTYPE_NONE;
}

enum { DTYPE_TEXT_SIZE_MAX = 32 };

typedef struct Cursor {
    const char *text;
    size_t size;
    size_t position;
} Cursor;

static char peek(Cursor *cursor) {
    while (cursor->position < cursor->size && cursor->text[cursor->position] &&
           strchr(" \t\r\n", cursor->text[cursor->position]))
        cursor->position++;
    return cursor->position < cursor->size ? cursor->text[cursor->position] : 0;
}

static bool take(Cursor *cursor, char wanted) {
    if (peek(cursor) != wanted) return false;
    cursor->position++;
    return true;
}

static Error *expect(Cursor *cursor, char wanted) {
    if (!take(cursor, wanted))
        FAIL(CORRUPT, "the header has no '%c' at offset %zu", wanted, cursor->position);
    return NULL;
}

/* Four hexadecimal digits. */
static Error *read_unit(Cursor *cursor, uint32_t *out) {
    uint8_t bytes[2];
    char digits[5] = {0};
    if (cursor->size - cursor->position >= 4) memcpy(digits, cursor->text + cursor->position, 4);
    if (!text_parse_hex(digits, bytes, 2))
        FAIL(CORRUPT, "the header has a broken \\u at offset %zu", cursor->position);
    cursor->position += 4;
    *out = (uint32_t)bytes[0] << 8 | bytes[1];
    return NULL;
}

/* Reads the rest of \uXXXX, and a second \uXXXX if the first is half of a surrogate pair. */
static Error *read_code_point(Cursor *cursor, TextBuilder *out) {
    uint32_t point = 0, low = 0;
    TRY(read_unit(cursor, &point));
    if (point >= 0xd800 && point < 0xdc00) {
        if (cursor->size - cursor->position < 2 ||
            memcmp(cursor->text + cursor->position, "\\u", 2) != 0)
            FAIL(CORRUPT, "the header has half a character at offset %zu", cursor->position);
        cursor->position += 2;
        TRY(read_unit(cursor, &low));
        if (low < 0xdc00 || low >= 0xe000)
            FAIL(CORRUPT, "the header has half a character at offset %zu", cursor->position);
        point = 0x10000 + ((point & 0x3ff) << 10 | (low & 0x3ff));
    } else if (point == 0 || (point >= 0xdc00 && point < 0xe000))
        FAIL(CORRUPT, "the header has no character at offset %zu", cursor->position);
    char bytes[4];
    size_t size = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const uint8_t marks[5] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = size; i-- > 1; point >>= 6) bytes[i] = (char)(0x80 | (point & 0x3f));
    bytes[0] = (char)(marks[size] | point);
    text_append_bytes(out, bytes, size);
    return NULL;
}

static Error *read_escape(Cursor *cursor, TextBuilder *out) {
    char c = cursor->position < cursor->size ? cursor->text[cursor->position++] : 0;
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *at = c ? strchr(from, c) : NULL;
    if (at)
        text_append_bytes(out, &to[at - from], 1);
    else if (c == 'u')
        TRY(read_code_point(cursor, out));
    else
        FAIL(CORRUPT, "the header has an unknown escape at offset %zu", cursor->position);
    return NULL;
}

/* Appends the string's characters to the empty builder. */
static Error *read_string(Cursor *cursor, TextBuilder *out) {
    TRY(expect(cursor, '"'));
    for (;;) {
        size_t start = cursor->position;
        while (cursor->position < cursor->size && cursor->text[cursor->position] != '"' &&
               cursor->text[cursor->position] != '\\' &&
               (uint8_t)cursor->text[cursor->position] >= ' ')
            cursor->position++;
        text_append_bytes(out, cursor->text + start, cursor->position - start);
        char c = cursor->position < cursor->size ? cursor->text[cursor->position++] : 0;
        if (c == '"') return text_builder_check(out);
        if (c != '\\') FAIL(CORRUPT, "the header has an open string at offset %zu", start);
        TRY(read_escape(cursor, out));
    }
}

static Error *read_number(Cursor *cursor, uint64_t *out) {
    char c = peek(cursor);
    if (c < '0' || c > '9')
        FAIL(CORRUPT, "the header has no number at offset %zu", cursor->position);
    uint64_t value = 0;
    for (; cursor->position < cursor->size; cursor->position++) {
        c = cursor->text[cursor->position];
        if (c < '0' || c > '9') break;
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(c - '0'), &value))
            FAIL(INVALID, "a number beyond 2^64");
    }
    *out = value;
    return NULL;
}

static Error *read_shape(Cursor *cursor, Shape *out) {
    Shape shape = {0};
    TRY(expect(cursor, '['));
    if (!take(cursor, ']')) {
        do {
            uint64_t dim = 0;
            if (shape.rank >= SHAPE_RANK_MAX)
                FAIL(INVALID, "more than %d dimensions", SHAPE_RANK_MAX);
            TRY(read_number(cursor, &dim));
            if (dim > INT64_MAX) FAIL(INVALID, "a dimension beyond 2^63");
            shape.dims[shape.rank++] = (int64_t)dim;
        } while (take(cursor, ','));
        TRY(expect(cursor, ']'));
    }
    *out = shape;
    return NULL;
}

static Error *read_dtype(Cursor *cursor, DType *out) {
    TextBuilder OWN_TEXT(text) = {0};
    TRY(read_string(cursor, &text));
    *out = safetensors_header_find_dtype(text_builder_get(&text));
    if (*out == DTYPE_NONE)
        FAIL(UNSUPPORTED, "elements of type %.*s", DTYPE_TEXT_SIZE_MAX, text_builder_get(&text));
    return NULL;
}

static Error *read_field(Cursor *cursor, SafetensorsEntry *entry, uint32_t *inout_seen) {
    static const char *const keys[] = {"dtype", "shape", "data_offsets"};
    TextBuilder OWN_TEXT(key) = {0};
    TRY(read_string(cursor, &key));
    TRY(expect(cursor, ':'));
    uint32_t which = 0;
    while (which < 3 && strcmp(text_builder_get(&key), keys[which]) != 0) which++;
    if (which == 3 || *inout_seen & 1u << which)
        FAIL(CORRUPT, "the key %.40s unexpectedly", text_builder_get(&key));
    *inout_seen |= 1u << which;
    if (which == 0) return read_dtype(cursor, &entry->dtype);
    if (which == 1) return read_shape(cursor, &entry->shape);
    TRY(expect(cursor, '['));
    TRY(read_number(cursor, &entry->begin));
    TRY(expect(cursor, ','));
    TRY(read_number(cursor, &entry->end));
    return expect(cursor, ']');
}

static Error *read_entry(Cursor *cursor, SafetensorsEntry *entry) {
    uint32_t seen = 0;
    TRY(expect(cursor, '{'));
    do TRY(read_field(cursor, entry, &seen));
    while (take(cursor, ','));
    TRY(expect(cursor, '}'));
    if (seen != 7) FAIL(CORRUPT, "one of dtype, shape, data_offsets is missing");
    uint64_t size = 0;
    TRY(shape_bytes(&entry->shape, entry->dtype, &size));
    if (entry->begin > entry->end || entry->end - entry->begin != size)
        FAIL(CORRUPT, "its offsets do not span the %llu bytes of its shape",
            (unsigned long long)size);
    return NULL;
}

static Error *skip_metadata(Cursor *cursor) {
    TRY(expect(cursor, '{'));
    if (take(cursor, '}')) return NULL;
    do {
        TextBuilder OWN_TEXT(text) = {0};
        TRY(read_string(cursor, &text));
        TRY(expect(cursor, ':'));
        TRY(read_string(cursor, &text));
    } while (take(cursor, ','));
    return expect(cursor, '}');
}

static Error *read_member(Cursor *cursor, SafetensorsHeader *header, bool *inout_metadata) {
    TextBuilder OWN_TEXT(name) = {0};
    TRY(read_string(cursor, &name));
    TRY(expect(cursor, ':'));
    if (strcmp(text_builder_get(&name), "__metadata__") == 0) {
        if (*inout_metadata) FAIL(CORRUPT, "the header has __metadata__ twice");
        *inout_metadata = true;
        return skip_metadata(cursor);
    }
    void *entries = header->entries;
    TRY(memory_grow(&entries, header->count, &header->capacity, sizeof *header->entries));
    header->entries = entries;
    SafetensorsEntry entry = {0};
    TRY_WRAP(read_entry(cursor, &entry), "array %.80s", text_builder_get(&name));
    TRY(memory_copy_text(text_builder_get(&name), &entry.name));
    header->entries[header->count++] = entry;
    return NULL;
}

static Error *read_members(Cursor *cursor, SafetensorsHeader *header) {
    if (!text_is_utf8(cursor->text, cursor->size)) FAIL(CORRUPT, "the header is not UTF-8");
    if (cursor->size == 0 || cursor->text[0] != '{') FAIL(CORRUPT, "the header is not JSON");
    bool metadata = false;
    TRY(expect(cursor, '{'));
    if (!take(cursor, '}')) {
        do TRY(read_member(cursor, header, &metadata));
        while (take(cursor, ','));
        TRY(expect(cursor, '}'));
    }
    if (peek(cursor) != 0 || cursor->position != cursor->size)
        FAIL(CORRUPT, "the header goes on behind its end at offset %zu", cursor->position);
    return NULL;
}

void safetensors_header_deinit(SafetensorsHeader *header) {
    for (size_t i = 0; i < header->count; i++) memory_free(header->entries[i].name);
    memory_free(header->entries);
    *header = (SafetensorsHeader){0};
}

Error *safetensors_header_parse(const char *text, size_t size, SafetensorsHeader *out) {
    Cursor cursor = {text, size, 0};
    SafetensorsHeader header = {0};
    Error *error = read_members(&cursor, &header);
    if (error) {
        safetensors_header_deinit(&header);
        return error;
    }
    *out = header;
    return NULL;
}
