#include <string.h>

#include "base/allocator.h"
#include "kernels/tensor/dtype_scalar.h"
#include "kernels/tensor/string_tensor.h"
#include "vm/assembly/assembly_internal.h"
#include "vm/objects/scalar.h"
#include "vm/objects/shape_object.h"
#include "vm/objects/string_object.h"

static Error *read_dims(Tokens *tokens, uint32_t max, int64_t *out_dims, uint32_t *out_count) {
    uint32_t count = 0;
    TRY(tokens_expect(tokens, "["));
    while (!tokens_at(tokens, "]")) {
        if (count > 0) TRY(tokens_expect(tokens, ","));
        if (count == max) return tokens_fail(tokens, "too many dimensions");
        TRY(tokens_read_i64(tokens, &out_dims[count]));
        count++;
    }
    *out_count = count;
    return tokens_next(tokens);
}

Error *assembly_read_shape(Tokens *tokens, Shape *out) {
    Shape shape = {0};
    TRY(read_dims(tokens, SHAPE_RANK_MAX, shape.dims, &shape.rank));
    *out = shape;
    return NULL;
}

/* Reads one element: true, false, an integer, a float. */
static Error *read_element(Tokens *tokens, DType dtype, uint8_t *to) {
    bool is_true = tokens_at(tokens, "true");
    if (is_true || tokens_at(tokens, "false")) {
        if (dtype != DTYPE_BOOL) return tokens_fail(tokens, "a number is missing");
        *to = is_true;
        return tokens_next(tokens);
    }
    if (tokens->token.kind != TOKEN_NUMBER && tokens->token.kind != TOKEN_WORD)
        return tokens_fail(tokens, "an element is missing");
    char *text;
    TRY(tokens_copy(tokens, &text));
    bool read = false;
    if (dtype_is_float(dtype)) {
        double real;
        read = text_parse_f64(text, &real) && dtype_scalar_write(dtype, real, to);
    } else if (dtype == DTYPE_UINT64) {
        uint64_t value;
        read = text_parse_u64(text, &value);
        if (read) memcpy(to, &value, sizeof value);
    } else if (dtype_is_integer(dtype)) {
        int64_t value;
        read = text_parse_i64(text, &value) && scalar_write_int(dtype, value, to);
    }
    memory_free(text);
    if (!read) return tokens_fail(tokens, "an element of the tensor's type is missing");
    return tokens_next(tokens);
}

static Error *read_elements(Tokens *tokens, Tensor *tensor) {
    int64_t count = shape_count_unchecked(&tensor->shape);
    uint8_t *data = tensor_data(tensor);
    for (int64_t i = 0; i < count; i++) {
        TRY(tokens_skip_newlines(tokens));
        if (i > 0) TRY(tokens_expect(tokens, ","));
        TRY(tokens_skip_newlines(tokens));
        TRY(read_element(
            tokens, tensor->dtype, data + (uint64_t)i * dtype_bits(tensor->dtype) / 8));
    }
    TRY(tokens_skip_newlines(tokens));
    return tokens_expect(tokens, "}");
}

static Error *read_hex(Tokens *tokens, Tensor *tensor) {
    uint64_t bytes = tensor_bytes(tensor);
    const Token *token = &tokens->token;
    if (token->size != 2 * bytes + 3) return tokens_fail(tokens, "as many bytes as elements need");
    uint8_t *data = tensor_data(tensor);
    const char *digits = token->start + 2;
    for (uint64_t i = 0; i < bytes; i++) {
        char text[3] = {digits[2 * i], digits[2 * i + 1], '\0'};
        if (!text_parse_hex(text, data + i, 1)) return tokens_fail(tokens, "hexadecimal digits");
    }
    return tokens_next(tokens);
}

/* The length of the text bounds the allocation: an element takes a digit at least. */
static Error *check_size(const Tokens *tokens, DType dtype, const Shape *shape, bool hex) {
    uint64_t bytes;
    TRY_WRAP(shape_bytes(shape, dtype, &bytes), "line %u", tokens->token.line);
    uint64_t elements = (uint64_t)shape_count_unchecked(shape);
    uint64_t digits = hex ? 2 * bytes : elements;
    if (digits > strlen(tokens->token.start))
        return tokens_fail(tokens, "the data of so large a tensor is missing");
    return NULL;
}

/* Reads texts in quotes into one text; ends: the end of each. */
static Error *read_texts(Tokens *tokens, int64_t count, TextBuilder *text, uint64_t *ends) {
    TRY(tokens_expect(tokens, "{"));
    for (int64_t i = 0; i < count; i++) {
        TRY(tokens_skip_newlines(tokens));
        if (i > 0) TRY(tokens_expect(tokens, ","));
        TRY(tokens_skip_newlines(tokens));
        TRY(tokens_read_string(tokens, text));
        ends[i] = text->size;
    }
    TRY(tokens_skip_newlines(tokens));
    return tokens_expect(tokens, "}");
}

static Error *make_strings(
    const Shape *shape, int64_t count, const TextBuilder *text, const uint64_t *ends, Value *out) {
    void *memory;
    TRY(memory_alloc((size_t)count, sizeof(StringView), &memory));
    StringView *views = memory;
    for (int64_t i = 0; i < count; i++) {
        uint64_t begin = i > 0 ? ends[i - 1] : 0;
        views[i] = (StringView){text_builder_get(text) + begin, ends[i] - begin};
    }
    Tensor *tensor = NULL;
    Error *error = string_tensor_create(shape, views, &tensor);
    memory_free(memory);
    TRY(error);
    *out = value_object(OBJECT_TENSOR, tensor);
    return string_tensor_check(tensor);
}

static Error *read_strings(Tokens *tokens, const Shape *shape, Value *out) {
    TextBuilder OWN_TEXT(text) = {0};
    int64_t count;
    void *ends;
    TRY_WRAP(shape_count(shape, &count), "line %u", tokens->token.line);
    if ((uint64_t)count > strlen(tokens->token.start))
        return tokens_fail(tokens, "the data of so large a tensor is missing");
    TRY(memory_alloc((size_t)count, sizeof(uint64_t), &ends));
    Error *error = read_texts(tokens, count, &text, ends);
    if (!error) error = text_builder_check(&text);
    if (!error) error = make_strings(shape, count, &text, ends, out);
    memory_free(ends);
    return error;
}

static Error *read_tensor(Tokens *tokens, DType dtype, Value *out) {
    Shape shape;
    TRY(assembly_read_shape(tokens, &shape));
    if (dtype == DTYPE_STRING) return read_strings(tokens, &shape, out);
    bool hex = tokens->token.kind == TOKEN_HEX;
    TRY(check_size(tokens, dtype, &shape, hex));
    OWN(Tensor, tensor) = NULL;
    TRY(tensor_create_on_host(device_host(), dtype, &shape, &tensor));
    if (hex) {
        TRY(read_hex(tokens, tensor));
    } else {
        if (dtype_bits(dtype) < 8) return tokens_fail(tokens, "bytes, x\"...\", are missing");
        TRY(tokens_expect(tokens, "{"));
        TRY(read_elements(tokens, tensor));
    }
    *out = value_object(OBJECT_TENSOR, TAKE(tensor));
    return NULL;
}

static Error *read_float(Tokens *tokens, Value *out) {
    bool bits;
    TRY(tokens_accept(tokens, "bits", &bits));
    char *text;
    TRY(tokens_copy(tokens, &text));
    double real = 0;
    uint64_t word;
    bool read = bits ? text_parse_u64(text, &word) : text_parse_f64(text, &real);
    memory_free(text);
    if (!read) return tokens_fail(tokens, "a float is missing");
    if (bits) memcpy(&real, &word, sizeof real);
    *out = value_float(real);
    return tokens_next(tokens);
}

static Error *read_bool(Tokens *tokens, Value *out) {
    bool is_true = tokens_at(tokens, "true");
    if (!is_true && !tokens_at(tokens, "false")) return tokens_fail(tokens, "true or false");
    *out = value_bool(is_true);
    return tokens_next(tokens);
}

static Error *read_string(Tokens *tokens, Value *out) {
    TextBuilder OWN_TEXT(text) = {0};
    TRY(tokens_read_string(tokens, &text));
    StringObject *string;
    TRY(string_object_create(NULL, text_builder_get(&text), text.size, &string));
    *out = value_object(OBJECT_STRING, string);
    return NULL;
}

static Error *read_shape_value(Tokens *tokens, Value *out) {
    int64_t dims[SHAPE_OBJECT_COUNT_MAX];
    uint32_t count;
    ShapeObject *object;
    TRY(read_dims(tokens, SHAPE_OBJECT_COUNT_MAX, dims, &count));
    TRY(shape_object_create_of(dims, count, &object));
    *out = value_object(OBJECT_SHAPE, object);
    return NULL;
}

static Error *read_dtype(Tokens *tokens, DType *out) {
    char *text;
    TRY(tokens_copy(tokens, &text));
    DType dtype = dtype_find(text);
    memory_free(text);
    if (dtype == DTYPE_NONE) return tokens_fail(tokens, "an element type is missing");
    *out = dtype;
    return tokens_next(tokens);
}

Error *assembly_read_constant(Tokens *tokens, Value *out) {
    static const struct {
        const char *word;
        Error *(*read)(Tokens *tokens, Value *out);
    } kinds[] = {{"float", read_float}, {"bool", read_bool}, {"string", read_string},
        {"shape", read_shape_value}};
    const char *next = tokens->token.start + tokens->token.size;
    for (uint32_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        /* bool[2] is a tensor, bool true a scalar */
        if (!tokens_at(tokens, kinds[i].word) || *next == '[') continue;
        TRY(tokens_next(tokens));
        return kinds[i].read(tokens, out);
    }
    bool accepted;
    TRY(tokens_accept(tokens, "int", &accepted));
    if (accepted) {
        int64_t integer;
        TRY(tokens_read_i64(tokens, &integer));
        *out = value_int(integer);
        return NULL;
    }
    bool is_dtype;
    TRY(tokens_accept(tokens, "dtype", &is_dtype));
    DType dtype;
    TRY(read_dtype(tokens, &dtype));
    if (!is_dtype) return read_tensor(tokens, dtype, out);
    *out = value_dtype(dtype);
    return NULL;
}
