#include "scheduler/http/inference/inference_tensor.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/tensor/dtype_scalar.h"

typedef struct TypeRow {
    DType dtype;
    const char *name;
    bool json;
} TypeRow;

static const TypeRow type_rows[] = {
#define INFERENCE_TYPE(dtype, name, json) {DTYPE_##dtype, name, json},
#include "scheduler/http/inference/inference_types.def"
};
enum { TYPE_COUNT = sizeof type_rows / sizeof *type_rows };

const char *inference_type_name(DType dtype) {
    for (size_t i = 0; i < TYPE_COUNT; i++)
        if (type_rows[i].dtype == dtype) return type_rows[i].name;
    return NULL;
}

DType inference_type_find(const char *name) {
    for (size_t i = 0; i < TYPE_COUNT; i++)
        if (strcmp(type_rows[i].name, name) == 0) return type_rows[i].dtype;
    return DTYPE_NONE;
}

bool inference_type_has_json(DType dtype) {
    for (size_t i = 0; i < TYPE_COUNT; i++)
        if (type_rows[i].dtype == dtype) return type_rows[i].json;
    return false;
}

/* ---- from JSON ---- */

/* The elements of one input while they are read. */
typedef struct Reading {
    NamedArray *array;
    const char **texts; /* of BYTES: borrowed from the JSON */
    uint64_t count, total;
} Reading;

static Error *fail_element(const Reading *reading, const char *wanted) {
    FAIL(INVALID, "input %s: element %" PRIu64 ": %s is wanted", reading->array->name,
        reading->count, wanted);
}

static Error *read_signed(Reading *reading, json_object *value, uint32_t bits) {
    const int64_t least = bits == 64 ? INT64_MIN : -((int64_t)1 << (bits - 1));
    const int64_t most = bits == 64 ? INT64_MAX : ((int64_t)1 << (bits - 1)) - 1;
    if (!json_object_is_type(value, json_type_int)) return fail_element(reading, "an integer");
    const int64_t number = json_object_get_int64(value);
    /* beyond int64 json-c answers the nearest one, or a uint64 */
    const bool exact = number != INT64_MAX || json_object_get_uint64(value) == INT64_MAX;
    if (!exact || number < least || number > most)
        return fail_element(reading, "an integer that the type holds");
    memcpy(reading->array->data + reading->count * (bits / 8), &number, bits / 8);
    return NULL;
}

static Error *read_unsigned(Reading *reading, json_object *value, uint32_t bits) {
    const uint64_t most = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    if (!json_object_is_type(value, json_type_int)) return fail_element(reading, "an integer");
    const uint64_t number = json_object_get_uint64(value);
    if (json_object_get_int64(value) < 0 || number > most)
        return fail_element(reading, "an integer that the type holds");
    memcpy(reading->array->data + reading->count * (bits / 8), &number, bits / 8);
    return NULL;
}

static Error *read_float(Reading *reading, json_object *value) {
    if (!json_object_is_type(value, json_type_double) && !json_object_is_type(value, json_type_int))
        return fail_element(reading, "a number");
    const double number = json_object_get_double(value);
    const DType dtype = reading->array->dtype;
    (void)dtype_scalar_write(
        dtype, number, reading->array->data + reading->count * (dtype_bits(dtype) / 8));
    return NULL;
}

static Error *read_bool(Reading *reading, json_object *value) {
    const bool is_number = json_object_is_type(value, json_type_int);
    const int64_t number = json_object_get_int64(value);
    if (!json_object_is_type(value, json_type_boolean) &&
        !(is_number && (number == 0 || number == 1)))
        return fail_element(reading, "true or false");
    reading->array->data[reading->count] = number != 0;
    return NULL;
}

static Error *read_text(Reading *reading, json_object *value) {
    if (!json_object_is_type(value, json_type_string)) return fail_element(reading, "a text");
    const char *text = json_object_get_string(value);
    if (strlen(text) != (size_t)json_object_get_string_len(value))
        return fail_element(reading, "a text without NUL");
    reading->texts[reading->count] = text;
    return NULL;
}

static Error *read_element(Reading *reading, json_object *value) {
    const DType dtype = reading->array->dtype;
    if (reading->count == reading->total)
        FAIL(INVALID, "input %s: more than the %" PRIu64 " elements of its shape",
            reading->array->name, reading->total);
    Error *error = dtype == DTYPE_STRING    ? read_text(reading, value)
                   : dtype == DTYPE_BOOL    ? read_bool(reading, value)
                   : dtype_is_float(dtype)  ? read_float(reading, value)
                   : dtype_is_signed(dtype) ? read_signed(reading, value, dtype_bits(dtype))
                                            : read_unsigned(reading, value, dtype_bits(dtype));
    if (!error) reading->count++;
    return error;
}

/* depth: of the list among those around it. The parser bounds it. */
static Error *read_list(Reading *reading, json_object *list, uint32_t depth, bool flat) {
    const Shape *shape = &reading->array->shape;
    const size_t length = json_object_array_length(list);
    if (!flat && (depth >= shape->rank || (int64_t)length != shape->dims[depth]))
        FAIL(INVALID, "input %s: the lists of its data do not have the lengths of its shape",
            reading->array->name);
    for (size_t i = 0; i < length; i++) {
        json_object *item = json_object_array_get_idx(list, i);
        const bool inner = !flat && depth + 1 < shape->rank;
        if (inner && !json_object_is_type(item, json_type_array))
            return fail_element(reading, "a list");
        TRY(inner ? read_list(reading, item, depth + 1, false) : read_element(reading, item));
    }
    return NULL;
}

/* The lists are nested where the first element is a list. */
static bool is_flat(json_object *data) {
    return json_object_array_length(data) == 0 ||
           !json_object_is_type(json_object_array_get_idx(data, 0), json_type_array);
}

static Error *read_elements(Reading *reading, json_object *data) {
    const bool is_list = json_object_is_type(data, json_type_array);
    TRY(is_list ? read_list(reading, data, 0, is_flat(data)) : read_element(reading, data));
    if (reading->count < reading->total)
        FAIL(INVALID, "input %s: %" PRIu64 " elements of the %" PRIu64 " of its shape",
            reading->array->name, reading->count, reading->total);
    return NULL;
}

Error *inference_tensor_read_json(json_object *data, const char *name, DType dtype,
    const Shape *shape, uint64_t size_max, NamedArray *out_array) {
    NamedArray array = {0};
    int64_t count;
    void *texts = NULL;
    if (!inference_type_has_json(dtype))
        FAIL(UNSUPPORTED, "input %s: elements of %s are sent as bytes (binary_data_size)", name,
            inference_type_name(dtype));
    TRY_WRAP(shape_count(shape, &count), "input %s", name);
    if ((uint64_t)count > size_max)
        FAIL(INVALID, "input %s: fewer elements than the %" PRId64 " of its shape", name, count);
    if (dtype == DTYPE_STRING) {
        TRY(memory_alloc((size_t)count, sizeof(char *), &texts));
        array = (NamedArray){.name = (char *)(uintptr_t)name, .dtype = dtype, .shape = *shape};
    } else
        TRY(named_array_init(&array, name, dtype, shape));
    Reading reading = {.array = &array, .texts = texts, .total = (uint64_t)count};
    Error *error = read_elements(&reading, data);
    if (dtype == DTYPE_STRING) {
        array = (NamedArray){0};
        if (!error)
            error = named_array_init_texts(&array, name, shape, (const char *const *)reading.texts);
        memory_free(texts);
    }
    if (error) {
        named_array_deinit(&array);
        return error;
    }
    *out_array = array;
    return NULL;
}

/* ---- from bytes ---- */

static Error *fail_size(const char *name, uint64_t size, const char *what) {
    FAIL(INVALID, "input %s: unexpected size %" PRIu64 ": %s", name, size, what);
}

/* Cuts one element off. Returns false if it is not whole. */
static bool take_text(const uint8_t **at, const uint8_t *end, const char **out, uint32_t *size) {
    if (end - *at < 4) return false;
    *size = (uint32_t)(*at)[0] | (uint32_t)(*at)[1] << 8 | (uint32_t)(*at)[2] << 16 |
            (uint32_t)(*at)[3] << 24;
    *at += 4;
    if ((uint64_t)(end - *at) < *size) return false;
    *out = (const char *)*at;
    *at += *size;
    return true;
}

/* Copies the elements, each with a NUL behind it, into buffer: room for size bytes, since each
 * element has four bytes of length. */
static Error *split_texts(const uint8_t *bytes, uint64_t size, const char *name, uint64_t count,
    char *buffer, const char **texts) {
    const uint8_t *at = bytes, *end = bytes + size;
    for (uint64_t i = 0; i < count; i++) {
        const char *text;
        uint32_t length;
        if (!take_text(&at, end, &text, &length))
            return fail_size(name, size, "the last elements are missing");
        if (memchr(text, 0, length) || !text_is_utf8(text, length))
            FAIL(INVALID, "input %s: element %" PRIu64 ": UTF-8 without NUL is wanted", name, i);
        memcpy(buffer, text, length);
        buffer[length] = 0;
        texts[i] = buffer;
        buffer += length + 1;
    }
    return at == end ? NULL : fail_size(name, size, "bytes are left behind the last element");
}

static Error *read_texts(const uint8_t *bytes, uint64_t size, const char *name, const Shape *shape,
    NamedArray *out_array) {
    int64_t count;
    void *texts, *buffer;
    TRY_WRAP(shape_count(shape, &count), "input %s", name);
    if ((uint64_t)count > size / 4) return fail_size(name, size, "the shape has more elements");
    TRY(memory_alloc((size_t)count, sizeof(char *), &texts));
    Error *error = memory_alloc(size, 1, &buffer);
    if (!error) {
        error = split_texts(bytes, size, name, (uint64_t)count, buffer, texts);
        if (!error) error = named_array_init_texts(out_array, name, shape, texts);
        memory_free(buffer);
    }
    memory_free(texts);
    return error;
}

Error *inference_tensor_read_bytes(const uint8_t *bytes, uint64_t size, const char *name,
    DType dtype, const Shape *shape, NamedArray *out_array) {
    uint64_t wanted;
    NamedArray array = {0};
    if (dtype == DTYPE_STRING) return read_texts(bytes, size, name, shape, out_array);
    TRY_WRAP(shape_bytes(shape, dtype, &wanted), "input %s", name);
    if (size != wanted) return fail_size(name, size, "its shape and type have another one");
    TRY(named_array_init(&array, name, dtype, shape));
    if (size) memcpy(array.data, bytes, size);
    Error *error = dtype == DTYPE_BOOL ? array_check_bools(array.data, size) : NULL;
    if (error) {
        named_array_deinit(&array);
        return error_wrap(error, "input %s", name);
    }
    *out_array = array;
    return NULL;
}

/* ---- to bytes and JSON ---- */

static uint64_t count_of(const NamedArray *array) {
    return (uint64_t)shape_count_unchecked(&array->shape);
}

uint64_t inference_tensor_size(const NamedArray *array) {
    uint64_t size = 0;
    if (array->dtype != DTYPE_STRING) return array->size;
    for (uint64_t i = 0; i < count_of(array); i++) size += 4 + strlen(array->texts[i]);
    return size;
}

void inference_tensor_write(const NamedArray *array, TextBuilder *out) {
    if (array->dtype != DTYPE_STRING) {
        if (array->size) text_append_bytes(out, (const char *)array->data, array->size);
        return;
    }
    for (uint64_t i = 0; i < count_of(array); i++) {
        const size_t length = strlen(array->texts[i]);
        const char head[4] = {(char)(length & 255), (char)(length >> 8 & 255),
            (char)(length >> 16 & 255), (char)(length >> 24 & 255)};
        text_append_bytes(out, head, sizeof head);
        text_append_bytes(out, array->texts[i], length);
    }
}

void inference_text_print(const char *text, TextBuilder *out) {
    text_append(out, "\"");
    for (const char *at = text; *at;) {
        size_t plain = 0;
        while ((unsigned char)at[plain] >= 0x20 && at[plain] != '"' && at[plain] != '\\') plain++;
        text_append_bytes(out, at, plain);
        at += plain;
        if (!*at) break;
        text_appendf(out, "\\u%04x", (unsigned)(unsigned char)*at++);
    }
    text_append(out, "\"");
}

static void print_float(double value, int digits, TextBuilder *out) {
    if (value == 0 && signbit(value))
        text_append(out, "-0.0"); /* -0 is an integer, and so is read as 0 */
    else if (isfinite(value))
        text_appendf(out, "%.*g", digits, value);
    else
        text_append(out, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
}

static void print_element(const NamedArray *array, uint64_t index, TextBuilder *out) {
    const uint32_t bytes = dtype_bits(array->dtype) / 8;
    const uint8_t *data = bytes ? array->data + index * bytes : NULL;
    uint64_t word = 0;
    if (array->dtype == DTYPE_STRING) {
        inference_text_print(array->texts[index], out);
        return;
    }
    memcpy(&word, data, bytes);
    if (array->dtype == DTYPE_BOOL)
        text_append(out, word ? "true" : "false");
    else if (dtype_is_float(array->dtype)) {
        double value = 0;
        (void)dtype_scalar_read(array->dtype, data, &value);
        print_float(value, array->dtype == DTYPE_FLOAT32 ? 9 : 17, out);
    } else if (dtype_is_signed(array->dtype)) {
        const uint32_t unused = 64 - bytes * 8;
        text_appendf(out, "%" PRId64, (int64_t)(word << unused) >> unused);
    } else
        text_appendf(out, "%" PRIu64, word);
}

Error *inference_tensor_print(const NamedArray *array, TextBuilder *out) {
    if (!inference_type_has_json(array->dtype))
        FAIL(UNSUPPORTED, "output %s: elements of %s are answered as bytes (binary_data)",
            array->name, dtype_name(array->dtype));
    text_append(out, "[");
    for (uint64_t i = 0; i < count_of(array); i++) {
        if (i) text_append(out, ",");
        print_element(array, i, out);
    }
    text_append(out, "]");
    return NULL;
}
