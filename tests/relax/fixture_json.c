#include "tests/relax/fixture_json.h"

#include <string.h>

#include "kernels/tensor/dtype_scalar.h"
#include "kernels/tensor/tensor.h"
#include "vm/objects/adt.h"
#include "vm/objects/object.h"
#include "vm/objects/scalar.h"
#include "vm/objects/shape_object.h"
#include "vm/objects/string_object.h"

static const char *text_of(json_object *object, const char *key) {
    json_object *member;
    return json_object_object_get_ex(object, key, &member) ? json_object_get_string(member) : "";
}

bool fixture_json_is_error(json_object *object) {
    return strcmp(text_of(object, "kind"), "error") == 0;
}

static Error *member_of(json_object *object, const char *key, json_object **out) {
    if (!json_object_object_get_ex(object, key, out)) FAIL(INVALID, "no member %s", key);
    return NULL;
}

static Error *read_shape(json_object *array, Shape *out) {
    const size_t rank = json_object_array_length(array);
    int64_t dims[SHAPE_RANK_MAX] = {0};
    if (rank > SHAPE_RANK_MAX) FAIL(INVALID, "a shape of rank %zu", rank);
    for (size_t i = 0; i < rank; i++)
        dims[i] = json_object_get_int64(json_object_array_get_idx(array, i));
    *out = shape_make((uint32_t)rank, dims);
    return NULL;
}

static Error *write_element(DType dtype, json_object *item, uint8_t *to) {
    if (dtype_is_integer(dtype) || dtype == DTYPE_BOOL) {
        Value value = json_object_is_type(item, json_type_boolean)
                          ? value_bool(json_object_get_boolean(item))
                          : value_int(json_object_get_int64(item));
        return scalar_write(&value, dtype, to);
    }
    if (!dtype_scalar_write(dtype, json_object_get_double(item), to))
        FAIL(INVALID, "an element of %s", dtype_name(dtype));
    return NULL;
}

static Error *read_tensor(json_object *object, Value *out) {
    json_object *dims, *data;
    Shape shape;
    OWN(Tensor, tensor) = NULL;
    const DType dtype = dtype_find(text_of(object, "dtype"));
    if (dtype == DTYPE_NONE) FAIL(INVALID, "element type %s", text_of(object, "dtype"));
    TRY(member_of(object, "shape", &dims));
    TRY(member_of(object, "data", &data));
    TRY(read_shape(dims, &shape));
    TRY(tensor_create_on_host(device_host(), dtype, &shape, &tensor));
    const size_t count = json_object_array_length(data);
    if ((int64_t)count != shape_count_unchecked(&shape)) FAIL(INVALID, "%zu elements", count);
    for (size_t i = 0; i < count; i++)
        TRY(write_element(dtype, json_object_array_get_idx(data, i),
            (uint8_t *)tensor_data(tensor) + i * (dtype_bits(dtype) / 8)));
    *out = value_object(OBJECT_TENSOR, TAKE(tensor));
    return NULL;
}

static Error *read_tuple(json_object *object, Value *out) {
    json_object *fields;
    OWN(Adt, adt) = NULL;
    TRY(member_of(object, "fields", &fields));
    const size_t count = json_object_array_length(fields);
    TRY(adt_create(NULL, 0, (uint32_t)count, &adt));
    for (size_t i = 0; i < count; i++)
        TRY_WRAP(fixture_json_read(json_object_array_get_idx(fields, i), &adt->fields[i]),
            "field %zu", i);
    *out = value_object(OBJECT_ADT, TAKE(adt));
    return NULL;
}

static Error *read_object(const char *kind, json_object *value, Value *out) {
    if (strcmp(kind, "str") == 0) {
        StringObject *string;
        TRY(string_object_create(NULL, json_object_get_string(value),
            (size_t)json_object_get_string_len(value), &string));
        *out = value_object(OBJECT_STRING, string);
        return NULL;
    }
    if (strcmp(kind, "shape") == 0) {
        ShapeObject *object;
        int64_t dims[SHAPE_OBJECT_COUNT_MAX];
        const size_t count = json_object_array_length(value);
        if (count > SHAPE_OBJECT_COUNT_MAX) FAIL(INVALID, "a shape of %zu dimensions", count);
        for (size_t i = 0; i < count; i++)
            dims[i] = json_object_get_int64(json_object_array_get_idx(value, i));
        TRY(shape_object_create_of(dims, count, &object));
        *out = value_object(OBJECT_SHAPE, object);
        return NULL;
    }
    if (strcmp(kind, "dtype") != 0) FAIL(INVALID, "a value of kind %s", kind);
    *out = value_dtype(dtype_find(json_object_get_string(value)));
    return NULL;
}

Error *fixture_json_read(json_object *object, Value *out) {
    const char *kind = text_of(object, "kind");
    json_object *value = NULL;
    if (strcmp(kind, "tensor") == 0) return read_tensor(object, out);
    if (strcmp(kind, "tuple") == 0) return read_tuple(object, out);
    if (strcmp(kind, "null") == 0) {
        *out = value_nil();
        return NULL;
    }
    TRY(member_of(object, "value", &value));
    if (strcmp(kind, "int") == 0)
        *out = value_int(json_object_get_int64(value));
    else if (strcmp(kind, "float") == 0)
        *out = value_float(json_object_get_double(value));
    else if (strcmp(kind, "bool") == 0)
        *out = value_bool(json_object_get_boolean(value));
    else
        return read_object(kind, value, out);
    return NULL;
}
