#include "serialize/arrays/npy_header.h"

#include <string.h>

enum { DESCR_SIZE_MAX = 16, ITEM_COUNT_MAX = 1 << 26 };

typedef struct Cursor {
    const char *text;
    size_t size;
    size_t position;
} Cursor;

static void skip_spaces(Cursor *cursor) {
    while (cursor->position < cursor->size &&
           (cursor->text[cursor->position] == ' ' || cursor->text[cursor->position] == '\n'))
        cursor->position++;
}

/* The next character that is no space; 0 at the end. */
static char peek(Cursor *cursor) {
    skip_spaces(cursor);
    return cursor->position < cursor->size ? cursor->text[cursor->position] : 0;
}

static bool take(Cursor *cursor, char wanted) {
    if (peek(cursor) != wanted || wanted == 0) return false;
    cursor->position++;
    return true;
}

static bool take_word(Cursor *cursor, const char *word) {
    skip_spaces(cursor);
    size_t length = strlen(word);
    if (cursor->size - cursor->position < length ||
        memcmp(cursor->text + cursor->position, word, length) != 0)
        return false;
    cursor->position += length;
    return true;
}

static Error *expect(Cursor *cursor, char wanted) {
    if (!take(cursor, wanted))
        FAIL(CORRUPT, "the header has no '%c' at offset %zu", wanted, cursor->position);
    return NULL;
}

/* A quoted string without escapes. */
static Error *read_string(Cursor *cursor, char out[DESCR_SIZE_MAX]) {
    char quote = peek(cursor);
    if (quote != '\'' && quote != '"')
        FAIL(CORRUPT, "the header has no string at offset %zu", cursor->position);
    cursor->position++;
    size_t length = 0;
    while (cursor->position < cursor->size && cursor->text[cursor->position] != quote) {
        char c = cursor->text[cursor->position++];
        if (length + 1 >= DESCR_SIZE_MAX || c < ' ' || c > '~' || c == '\\')
            FAIL(CORRUPT, "the header has a strange string before offset %zu", cursor->position);
        out[length++] = c;
    }
    out[length] = 0;
    return expect(cursor, quote);
}

static Error *read_number(Cursor *cursor, int64_t *out) {
    char c = peek(cursor);
    if (c < '0' || c > '9')
        FAIL(CORRUPT, "the header has no number at offset %zu", cursor->position);
    int64_t value = 0;
    while (cursor->position < cursor->size) {
        c = cursor->text[cursor->position];
        if (c < '0' || c > '9') break;
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, c - '0', &value))
            FAIL(INVALID, "a dimension beyond 2^63");
        cursor->position++;
    }
    if (cursor->position < cursor->size && cursor->text[cursor->position] == 'L')
        cursor->position++; /* Python 2 wrote an L behind long integers */
    *out = value;
    return NULL;
}

static Error *read_shape(Cursor *cursor, Shape *out) {
    Shape shape = {0};
    TRY(expect(cursor, '('));
    while (!take(cursor, ')')) {
        if (shape.rank >= SHAPE_RANK_MAX) FAIL(INVALID, "more than %d dimensions", SHAPE_RANK_MAX);
        TRY(read_number(cursor, &shape.dims[shape.rank]));
        shape.rank++;
        if (take(cursor, ',')) continue;
        if (shape.rank == 1) FAIL(CORRUPT, "the header's shape is a number, not a tuple");
        TRY(expect(cursor, ')'));
        break;
    }
    *out = shape;
    return NULL;
}

static Error *parse_descr(const char *descr, NpyHeader *header) {
    char order = descr[0];
    bool has_order = order == '<' || order == '>' || order == '|' || order == '=';
    const char *rest = has_order ? descr + 1 : descr;
    header->kind = rest[0];
    header->big_endian = order == '>';
    int64_t number = 0;
    Cursor cursor = {rest, strlen(rest), 1};
    if (rest[0] == 0 || !strchr("fiubUS", rest[0]) || strlen(rest) < 2)
        FAIL(UNSUPPORTED, "elements of numpy type '%s'", descr);
    TRY(read_number(&cursor, &number));
    bool is_text = header->kind == 'U' || header->kind == 'S';
    bool is_power = number == 1 || number == 2 || number == 4 || number == 8;
    bool fits = is_text               ? number >= 1 && number <= ITEM_COUNT_MAX
                : header->kind == 'b' ? number == 1
                : header->kind == 'f' ? is_power && number > 1
                                      : is_power;
    if (cursor.position != cursor.size || !fits)
        FAIL(UNSUPPORTED, "elements of numpy type '%s'", descr);
    header->item_count = (uint32_t)number;
    return NULL;
}

static Error *read_descr(Cursor *cursor, NpyHeader *header) {
    if (peek(cursor) == '[' || peek(cursor) == '(') FAIL(UNSUPPORTED, "records of several fields");
    char descr[DESCR_SIZE_MAX];
    TRY(read_string(cursor, descr));
    return parse_descr(descr, header);
}

static Error *read_order(Cursor *cursor, NpyHeader *header) {
    header->fortran_order = take_word(cursor, "True");
    if (!header->fortran_order && !take_word(cursor, "False"))
        FAIL(CORRUPT, "the header has neither True nor False at offset %zu", cursor->position);
    return NULL;
}

Error *npy_header_parse(const char *text, size_t size, NpyHeader *out) {
    Cursor cursor = {text, size, 0};
    NpyHeader header = {0};
    bool has_descr = false, has_order = false, has_shape = false;
    TRY(expect(&cursor, '{'));
    while (!take(&cursor, '}')) {
        char key[DESCR_SIZE_MAX];
        TRY(read_string(&cursor, key));
        TRY(expect(&cursor, ':'));
        bool *seen = strcmp(key, "descr") == 0           ? &has_descr
                     : strcmp(key, "fortran_order") == 0 ? &has_order
                     : strcmp(key, "shape") == 0         ? &has_shape
                                                         : NULL;
        if (!seen || *seen) FAIL(CORRUPT, "the header has the key %s unexpectedly", key);
        *seen = true;
        if (seen == &has_descr)
            TRY(read_descr(&cursor, &header));
        else if (seen == &has_order)
            TRY(read_order(&cursor, &header));
        else
            TRY(read_shape(&cursor, &header.shape));
        if (take(&cursor, ',')) continue;
        TRY(expect(&cursor, '}'));
        break;
    }
    if (peek(&cursor) != 0 || cursor.position != size)
        FAIL(CORRUPT, "the header goes on behind its end at offset %zu", cursor.position);
    if (!has_descr || !has_order || !has_shape)
        FAIL(CORRUPT, "the header lacks one of descr, fortran_order, shape");
    int64_t count = 0;
    TRY(shape_count(&header.shape, &count));
    *out = header;
    return NULL;
}

size_t npy_header_item_size(const NpyHeader *header) {
    return header->kind == 'U' ? (size_t)header->item_count * 4 : header->item_count;
}
