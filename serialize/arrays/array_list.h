#pragma once
/* Named arrays in host memory: what npy, npz and safetensors files are read into and written from.
 *
 * Element types that a file format lacks stand in it as raw unsigned integers, with a string array
 * NAME.dtype beside them that says what they are (docs/formats.md#arrays). */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kernels/tensor/dtype.h"
#include "kernels/tensor/shape.h"

typedef struct NamedArray {
    char *name; /* "" for a npy file that was given none */
    DType dtype;
    Shape shape;
    /* Compact, row-major, little-endian. NULL when size is 0 and for strings. */
    uint8_t *data;
    uint64_t size; /* shape_bytes; whoever takes the data out frees it by array_data_free */
    /* Only for DTYPE_STRING: the elements, UTF-8. One block of memory: memory_free(texts). */
    char **texts;
} NamedArray;

/* On huge pages where it is large. */
MUST_CHECK Error *array_data_alloc(uint64_t size, uint8_t **out);
void array_data_free(uint8_t *data, uint64_t size);

void named_array_deinit(NamedArray *array);
/* A copy of the name, and zeroed data of the shape's size (not for strings). Errors: INVALID. */
MUST_CHECK Error *named_array_init(
    NamedArray *array, const char *name, DType dtype, const Shape *shape);
/* A string array: texts are copied. */
MUST_CHECK Error *named_array_init_texts(
    NamedArray *array, const char *name, const Shape *shape, const char *const *texts);

typedef struct ArrayList {
    NamedArray *items;
    size_t count;
    size_t capacity;
} ArrayList;

void array_list_deinit(ArrayList *list);
#define OWN_ARRAYS(name) __attribute__((cleanup(array_list_deinit))) name
/* Moves the array into the list; it is consumed (emptied) even on failure. */
MUST_CHECK Error *array_list_add(ArrayList *list, NamedArray *owned_array);
/* NULL when there is none. */
const NamedArray *array_list_find(const ArrayList *list, const char *name);
/* Errors: INVALID two arrays have one name. */
MUST_CHECK Error *array_list_check_names(const ArrayList *list);
/* Gives every array that has a NAME.dtype beside it that type, and drops the latter.
 *
 * Errors: INVALID the type is unknown, or the array's elements are not its raw form. */
MUST_CHECK Error *array_list_apply_dtypes(ArrayList *list);
/* What NAME.dtype says of an array whose elements are written as another type. Errors: INVALID. */
MUST_CHECK Error *array_find_described_dtype(const char *text, DType written, DType *out);
/* Gives the array that type, whose raw form its elements are. Errors: INVALID an element with more
 * bits than the type has. */
MUST_CHECK Error *named_array_describe(NamedArray *array, DType dtype);
/* The type that elements are written as where numpy is the measure: dtype itself, or the unsigned
 * integers that hold its bits (those of less than a byte: uint8, one each). */
DType array_raw_dtype(DType dtype);
/* Elements of less than a byte, one to a byte, as the type packs them. Errors: INVALID a byte with
 * more bits than an element has. */
MUST_CHECK Error *array_pack(DType dtype, const uint8_t *bytes, size_t count, uint8_t *out_packed);
/* Bool elements are 0 or 1, nothing else. Errors: INVALID. */
MUST_CHECK Error *array_check_bools(const uint8_t *data, uint64_t size);
