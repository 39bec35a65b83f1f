#pragma once
/* Tensors of the Open Inference Protocol: their types' names, their elements as JSON and as bytes.
 * Called by the other files of this folder, on handler threads. Pure: an array belongs to its
 * caller.
 *
 * As bytes, elements are little-endian and without padding; an element of BYTES is its length, four
 * bytes, and then its text. Texts are UTF-8 without NUL, since an array's texts end with one. */
#include <json-c/json_object.h>

#include "base/text.h"
#include "serialize/arrays/array_list.h"

/* "FP32"; NULL: the protocol has no such type. */
const char *inference_type_name(DType dtype);
/* DTYPE_NONE: the protocol has no type of that name, or this version does not take it. */
DType inference_type_find(const char *name);
/* Whether elements can be written in JSON. */
bool inference_type_has_json(DType dtype);

/* Make an array of that name, type and shape. data: all elements in their order, nested as the
 * shape says or flat. size_max: upper bound on the number of elements, checked before memory is
 * taken. Errors: INVALID an element or a length, by the array's name; UNSUPPORTED the type only
 * exists as bytes. */
MUST_CHECK Error *inference_tensor_read_json(json_object *data, const char *name, DType dtype,
    const Shape *shape, uint64_t size_max, NamedArray *out_array);
MUST_CHECK Error *inference_tensor_read_bytes(const uint8_t *bytes, uint64_t size, const char *name,
    DType dtype, const Shape *shape, NamedArray *out_array);

/* The number of bytes that inference_tensor_write appends. */
uint64_t inference_tensor_size(const NamedArray *array);
/* Appends the elements as bytes. */
void inference_tensor_write(const NamedArray *array, TextBuilder *out);
/* Appends the elements as a flat JSON list. Errors: UNSUPPORTED the type only exists as bytes. */
MUST_CHECK Error *inference_tensor_print(const NamedArray *array, TextBuilder *out);
/* Appends a JSON string. */
void inference_text_print(const char *text, TextBuilder *out);
