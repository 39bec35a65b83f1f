#pragma once
/* Named arrays in host memory: the content of npy, npz and safetensors files. Used by the readers
 * and writers of this folder, scheduler/executor, scheduler/node and tools/client. Threads: one at
 * a time per list.
 *
 * Element types that a file format lacks are written as raw unsigned integers, with a string array
 * NAME.dtype beside them that names the type (docs/formats.md#arrays). */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kernels/tensor/dtype.h"
#include "kernels/tensor/shape.h"

typedef struct NamedArray {
    char *name; /* "" for a npy file without a name */
    DType dtype;
    Shape shape;
    /* Compact, row-major, little-endian. NULL when size is 0 and for strings. */
    uint8_t *data;
    uint64_t size; /* shape_bytes; code that takes the data out frees it with array_data_free */
    /* Only for DTYPE_STRING: the elements in UTF-8, in one block of memory; memory_free(texts). */
    char **texts;
} NamedArray;

/* Allocates data; large data on huge pages. */
MUST_CHECK Error *array_data_alloc(uint64_t size, uint8_t **out);
void array_data_free(uint8_t *data, uint64_t size);

void named_array_deinit(NamedArray *array);
/* Copies the name and allocates zeroed data of the shape's size (not for strings). Errors: INVALID.
 */
MUST_CHECK Error *named_array_init(
    NamedArray *array, const char *name, DType dtype, const Shape *shape);
/* Makes a string array and copies the texts. */
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
/* Returns the array of that name, NULL when there is none. */
const NamedArray *array_list_find(const ArrayList *list, const char *name);
/* Checks that names are unique. Errors: INVALID two arrays have one name. */
MUST_CHECK Error *array_list_check_names(const ArrayList *list);
/* Gives every array with a NAME.dtype beside it that type, and drops the NAME.dtype array.
 *
 * Errors: INVALID the type is unknown, or the array's elements are not its raw form. */
MUST_CHECK Error *array_list_apply_dtypes(ArrayList *list);
/* Reads the type that NAME.dtype gives to an array written as another type. Errors: INVALID. */
MUST_CHECK Error *array_find_described_dtype(const char *text, DType written, DType *out);
/* Changes the type of an array whose elements are the type's raw form. Errors: INVALID an element
 * with more bits than the type has. */
MUST_CHECK Error *named_array_describe(NamedArray *array, DType dtype);
/* Returns the type that elements are written as in numpy's formats: dtype itself, or the unsigned
 * integers that hold its bits (types of less than a byte: one uint8 each). */
DType array_raw_dtype(DType dtype);
/* Packs elements of less than a byte, which stand in one byte each. Errors: INVALID a byte with
 * more bits than an element has. */
MUST_CHECK Error *array_pack(DType dtype, const uint8_t *bytes, size_t count, uint8_t *out_packed);
/* Checks that bool elements are 0 or 1. Errors: INVALID. */
MUST_CHECK Error *array_check_bools(const uint8_t *data, uint64_t size);
