#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/operator/attributes_internal.h"

/* {axis=1, alpha=0.5, perm=[0, 2, 1], mode="constant", to=float32, value=tensor(float32, [2],
 * "0000803f0000803f")}. A float always has a '.', an 'e' or letters, so that the kind can be read
 * back; tensor bytes are hexadecimal. */

enum { NUMBER_TEXT_MAX = 64, WORD_MAX = 64 };

/* The fewest digits that read back as the same double. */
static void print_float(double value, TextBuilder *out) {
    char text[NUMBER_TEXT_MAX];
    int digits = 6;
    double back = 0;
    do {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        if (!text_parse_f64(text, &back)) back = value;
    } while (++digits <= 17 && back != value && value == value);
    text_append(out, isnan(value) ? "nan" : text);
    if (!strpbrk(text, ".einfa")) text_append(out, ".0");
}

static void print_quoted(const char *text, TextBuilder *out) {
    text_append(out, "\"");
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            text_appendf(out, "\\%c", *c);
        else if ((unsigned char)*c < 0x20 || *c == 0x7f)
            text_appendf(out, "\\x%02x", (unsigned)(unsigned char)*c);
        else
            text_append_bytes(out, c, 1);
    }
    text_append(out, "\"");
}

static void print_tensor(const Tensor *tensor, TextBuilder *out) {
    text_appendf(out, "tensor(%s, ", dtype_name(tensor->dtype));
    shape_print(&tensor->shape, out);
    text_append(out, ", \"");
    const uint8_t *bytes = tensor_data(tensor);
    for (uint64_t i = 0; i < tensor_bytes(tensor); i++)
        text_appendf(out, "%02x", (unsigned)bytes[i]);
    text_append(out, "\")");
}

static void print_value(const Attribute *attribute, TextBuilder *out) {
    switch (attribute->kind) {
    case ATTRIBUTE_INT:
        text_appendf(out, "%" PRId64, attribute->int_value);
        return;
    case ATTRIBUTE_FLOAT:
        print_float(attribute->float_value, out);
        return;
    case ATTRIBUTE_TEXT:
        print_quoted(attribute->text, out);
        return;
    case ATTRIBUTE_DTYPE:
        text_append(out, dtype_name(attribute->dtype));
        return;
    case ATTRIBUTE_TENSOR:
        print_tensor(attribute->tensor, out);
        return;
    case ATTRIBUTE_INTS:
    case ATTRIBUTE_FLOATS:
    case ATTRIBUTE_TEXTS:
        break;
    }
    text_append(out, "[");
    for (uint32_t i = 0; i < attribute->count; i++) {
        if (i) text_append(out, ", ");
        if (attribute->kind == ATTRIBUTE_INTS)
            text_appendf(out, "%" PRId64, attribute->ints[i]);
        else if (attribute->kind == ATTRIBUTE_FLOATS)
            print_float(attribute->floats[i], out);
        else
            print_quoted(attribute->texts[i], out);
    }
    text_append(out, "]");
}

void attributes_print(const Attributes *attributes, TextBuilder *out) {
    text_append(out, "{");
    for (uint32_t i = 0; i < attributes->count; i++) {
        text_appendf(out, "%s%s=", i ? ", " : "", attributes->entries[i].name);
        print_value(&attributes->entries[i], out);
    }
    text_append(out, "}");
}

static void skip_blanks(const char **at) {
    while (**at == ' ' || **at == '\t' || **at == '\n' || **at == '\r') (*at)++;
}

static bool accept(const char **at, char c) {
    skip_blanks(at);
    if (**at != c) return false;
    (*at)++;
    return true;
}

static Error *expect(const char **at, char c) {
    if (accept(at, c)) return NULL;
    if (**at == 0) FAIL(INVALID, "attributes end where '%c' should stand", c);
    FAIL(INVALID, "'%c' where '%c' should stand", **at, c);
}

/* Reads a run of letters, digits and the signs that numbers contain. */
static Error *read_word(const char **at, const char *extra, char out[WORD_MAX]) {
    skip_blanks(at);
    size_t length = 0;
    while ((*at)[length] && ((*at)[length] == '_' || strchr(extra, (*at)[length]) ||
                                ((*at)[length] >= '0' && (*at)[length] <= '9') ||
                                ((*at)[length] >= 'a' && (*at)[length] <= 'z') ||
                                ((*at)[length] >= 'A' && (*at)[length] <= 'Z')))
        if (++length >= WORD_MAX) FAIL(INVALID, "a word of more than %d letters", WORD_MAX - 1);
    if (length == 0 && **at == 0) FAIL(INVALID, "attributes end where a word should stand");
    if (length == 0) FAIL(INVALID, "'%c' where a word should stand", **at);
    memcpy(out, *at, length);
    out[length] = 0;
    *at += length;
    return NULL;
}

static Error *read_escape(const char **at, TextBuilder *out) {
    char c = *(*at)++;
    if (c == 'x') {
        uint8_t byte;
        char digits[3] = {0};
        for (size_t i = 0; i < 2 && (*at)[i]; i++) digits[i] = (*at)[i];
        if (!text_parse_hex(digits, &byte, 1) || byte == 0) FAIL(INVALID, "a wrong \\x escape");
        *at += 2;
        c = (char)byte;
    } else if (c != '"' && c != '\\') {
        FAIL(INVALID, "a wrong escape in a text");
    }
    text_append_bytes(out, &c, 1);
    return NULL;
}

/* Reads the text behind an opening quote. */
static Error *read_quoted(const char **at, char **out) {
    TextBuilder OWN_TEXT(text) = {0};
    while (**at != '"') {
        if (**at == 0) FAIL(INVALID, "a text does not end");
        if (text.size > ATTRIBUTE_TEXT_MAX) FAIL(INVALID, "a text is too long");
        if (**at == '\\') {
            (*at)++;
            TRY(read_escape(at, &text));
        } else {
            text_append_bytes(&text, (*at)++, 1);
        }
    }
    (*at)++;
    return text_builder_take(&text, out);
}

static Error *read_dims(const char **at, Shape *out) {
    TRY(expect(at, '['));
    Shape shape = {0};
    while (!accept(at, ']')) {
        char word[WORD_MAX];
        if (shape.rank > 0) TRY(expect(at, ','));
        if (shape.rank == SHAPE_RANK_MAX) FAIL(INVALID, "a shape beyond rank %d", SHAPE_RANK_MAX);
        TRY(read_word(at, "-", word));
        if (!text_parse_i64(word, &shape.dims[shape.rank++]))
            FAIL(INVALID, "\"%s\" is not a dimension", word);
    }
    *out = shape;
    return NULL;
}

/* Reads a tensor; the word "tensor" is read already. */
static Error *read_tensor(const char **at, Tensor **out) {
    char word[WORD_MAX];
    Shape shape;
    TRY(expect(at, '('));
    TRY(read_word(at, "", word));
    DType dtype = dtype_find(word);
    if (dtype == DTYPE_NONE) FAIL(INVALID, "\"%s\" is not an element type", word);
    TRY(expect(at, ','));
    TRY(read_dims(at, &shape));
    TRY(expect(at, ','));
    TRY(expect(at, '"'));
    uint64_t bytes;
    TRY(shape_bytes(&shape, dtype, &bytes));
    size_t digits = strspn(*at, "0123456789abcdefABCDEF");
    if (digits % 2 != 0 || digits / 2 != bytes)
        FAIL(INVALID, "a tensor of %" PRIu64 " bytes has %zu digits", bytes, digits);
    OWN(Tensor, tensor) = NULL;
    TRY(tensor_create_on_host(device_host(), dtype, &shape, &tensor));
    uint8_t *data = tensor_data(tensor);
    for (size_t i = 0; i < bytes; i++) {
        char pair[3] = {(*at)[2 * i], (*at)[2 * i + 1], 0};
        (void)text_parse_hex(pair, &data[i], 1); /* strspn has checked the digits */
    }
    *at += digits;
    TRY(expect(at, '"'));
    TRY(expect(at, ')'));
    tensor->storage->sealed = true;
    *out = TAKE(tensor);
    return NULL;
}

/* Reads an element that is not a list. */
static Error *read_single(const char **at, Attribute *out) {
    if (accept(at, '"')) {
        out->kind = ATTRIBUTE_TEXT;
        return read_quoted(at, &out->text);
    }
    char word[WORD_MAX];
    TRY(read_word(at, "+-.", word));
    if (strcmp(word, "tensor") == 0) {
        Tensor *tensor = NULL;
        TRY(read_tensor(at, &tensor));
        *out = (Attribute){.kind = ATTRIBUTE_TENSOR, .tensor = tensor};
    } else if (dtype_find(word) != DTYPE_NONE) {
        *out = (Attribute){.kind = ATTRIBUTE_DTYPE, .dtype = dtype_find(word)};
    } else if (text_parse_i64(word, &out->int_value)) {
        out->kind = ATTRIBUTE_INT;
    } else if (text_parse_f64(word, &out->float_value)) {
        out->kind = ATTRIBUTE_FLOAT;
    } else {
        FAIL(INVALID, "\"%s\" is not a value", word);
    }
    return NULL;
}

typedef struct ListReader {
    Attribute list; /* kind and count so far; owns the array */
    size_t capacity;
} ListReader;

static Error *list_add(ListReader *reader, Attribute *element) {
    Attribute *list = &reader->list;
    AttributeKind kind = element->kind == ATTRIBUTE_INT     ? ATTRIBUTE_INTS
                         : element->kind == ATTRIBUTE_FLOAT ? ATTRIBUTE_FLOATS
                                                            : ATTRIBUTE_TEXTS;
    if (list->count == 0) list->kind = kind;
    if (element->kind == ATTRIBUTE_DTYPE || element->kind == ATTRIBUTE_TENSOR || kind != list->kind)
        FAIL(INVALID, "a list of mixed or unlistable values");
    if (list->count == ATTRIBUTE_LIST_MAX)
        FAIL(INVALID, "a list of more than %d", ATTRIBUTE_LIST_MAX);
    /* all three element types are 8 bytes */
    void *array = list->ints;
    TRY(memory_grow(&array, list->count, &reader->capacity, sizeof(int64_t)));
    list->ints = array;
    if (kind == ATTRIBUTE_INTS)
        list->ints[list->count++] = element->int_value;
    else if (kind == ATTRIBUTE_FLOATS)
        list->floats[list->count++] = element->float_value;
    else
        list->texts[list->count++] = TAKE(element->text);
    return NULL;
}

/* Reads the elements of a list behind its '['. */
static Error *read_elements(const char **at, ListReader *reader) {
    while (!accept(at, ']')) {
        if (reader->list.count > 0) TRY(expect(at, ','));
        Attribute element = {.kind = ATTRIBUTE_INT};
        TRY(read_single(at, &element));
        Error *error = list_add(reader, &element);
        attribute_deinit(&element);
        TRY(error);
    }
    return NULL;
}

static Error *read_value(const char **at, Attribute *out) {
    if (!accept(at, '[')) return read_single(at, out);
    ListReader reader = {.list = {.kind = ATTRIBUTE_INTS}};
    void *empty;
    TRY(memory_alloc(1, sizeof(int64_t), &empty));
    reader.list.ints = empty;
    reader.capacity = 1;
    Error *error = read_elements(at, &reader);
    if (error)
        attribute_deinit(&reader.list);
    else
        *out = reader.list;
    return error;
}

static Error *read_entry(const char **at, Attributes *attributes) {
    char name[WORD_MAX];
    TRY(read_word(at, "", name));
    TRY(expect(at, '='));
    if (attributes_get(attributes, name)) FAIL(INVALID, "attribute %s twice", name);
    Attribute attribute = {.kind = ATTRIBUTE_INT};
    TRY_WRAP(read_value(at, &attribute), "attribute %s", name);
    return attributes_put(attributes, name, attribute);
}

Error *attributes_parse(const char **inout_text, Attributes **out) {
    const char *at = *inout_text;
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(expect(&at, '{'));
    while (!accept(&at, '}')) {
        if (attributes->count > 0) TRY(expect(&at, ','));
        TRY(read_entry(&at, attributes));
    }
    *inout_text = at;
    *out = TAKE(attributes);
    return NULL;
}
