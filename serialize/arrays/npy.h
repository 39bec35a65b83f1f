#pragma once
/* numpy's .npy format: one array. Reads versions 1 to 3, either byte order and either element
 * order; writes little-endian row-major files. Strings: U (UTF-32) and S (which must be UTF-8).
 * Callers: the npz files of this folder and tools/client. Pure: no state, any thread. */
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "serialize/arrays/array_list.h"
#include "serialize/arrays/npy_header.h"

/* Reads a file in memory; data is the whole file.
 *
 * name:   copied into the array.
 * Errors: CORRUPT; UNSUPPORTED objects, records, complex numbers, times; INVALID a shape that no
 *         tensor has, a bool other than 0 and 1. */
MUST_CHECK Error *npy_read(const void *data, size_t size, const char *name, NamedArray *out_array);

/* The form of an array in its file: the content of its header, checked against the file's size. */
typedef struct NpyForm {
    NpyHeader header;
    DType dtype;
    uint32_t head_size; /* where the elements begin */
    uint64_t size;      /* of the elements in the file */
} NpyForm;

enum { NPY_PREFIX_SIZE = 12, NPY_HEAD_SIZE_MAX = (64 << 10) + NPY_PREFIX_SIZE };

/* Reads how many bytes of a file are needed to read its form. prefix: its first NPY_PREFIX_SIZE
 * bytes.
 * Errors: CORRUPT; UNSUPPORTED a later version. */
MUST_CHECK Error *npy_head_size(const uint8_t *prefix, uint32_t *out_size);
/* Reads a file's form. head: that many bytes. file_size: of the whole file. Errors: as npy_read. */
MUST_CHECK Error *npy_read_form(
    const uint8_t *head, size_t head_size, uint64_t file_size, NpyForm *out_form);
/* Returns whether a tensor's bytes are the file's bytes piece by piece: no text, row-major order.
 */
bool npy_form_is_plain(const NpyForm *form);
/* Converts a piece of a plain form's elements, whole elements only, from the file's byte order to
 * this machine's. Errors: INVALID a bool other than 0 and 1. */
MUST_CHECK Error *npy_order_piece(const NpyForm *form, uint8_t *data, size_t size);

/* Writes the header of an array; its length is a multiple of 64. Element types that numpy lacks are
 * written as array_raw_dtype. */
MUST_CHECK Error *npy_write_header(const NamedArray *array, ByteWriter *out);
/* Writes the elements of a string array or a 4-bit array in the file's form. Other arrays need no
 * conversion, and nothing is written for them. */
MUST_CHECK Error *npy_write_elements(const NamedArray *array, ByteWriter *out);
/* Returns how many letters each element of a string array takes in a file. */
size_t npy_text_width(const NamedArray *array);
bool npy_is_written_as_is(const NamedArray *array);
