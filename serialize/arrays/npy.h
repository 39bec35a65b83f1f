#pragma once
/* numpy's .npy: one array. Versions 1 to 3; either byte order and either element order are read,
 * little-endian row-major is written. Strings: U (UTF-32) and S (which must be UTF-8). */
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "serialize/arrays/array_list.h"
#include "serialize/arrays/npy_header.h"

/* The whole of data is the file.
 *
 * name:   copied into the array.
 * Errors: CORRUPT; UNSUPPORTED objects, records, complex numbers, times; INVALID a shape that no
 *         tensor has, a bool other than 0 and 1. */
MUST_CHECK Error *npy_read(const void *data, size_t size, const char *name, NamedArray *out_array);

/* How an array stands in its file: what its header says, checked against the file's size. */
typedef struct NpyForm {
    NpyHeader header;
    DType dtype;
    uint32_t head_size; /* where the elements begin */
    uint64_t size;      /* of the elements in the file */
} NpyForm;

enum { NPY_PREFIX_SIZE = 12, NPY_HEAD_SIZE_MAX = (64 << 10) + NPY_PREFIX_SIZE };

/* How many bytes of a file must be there to read its form. prefix: its first NPY_PREFIX_SIZE bytes.
 * Errors: CORRUPT; UNSUPPORTED a later version. */
MUST_CHECK Error *npy_head_size(const uint8_t *prefix, uint32_t *out_size);
/* head: so many bytes. file_size: of the whole file. Errors: as npy_read. */
MUST_CHECK Error *npy_read_form(
    const uint8_t *head, size_t head_size, uint64_t file_size, NpyForm *out_form);
/* Whether a tensor's bytes are those of the file, piece by piece: no text, and rows first. */
bool npy_form_is_plain(const NpyForm *form);
/* A piece of a plain one's elements, whole ones, as it stands in the file: in this machine's order
 * then. Errors: INVALID a bool other than 0 and 1. */
MUST_CHECK Error *npy_order_piece(const NpyForm *form, uint8_t *data, size_t size);

/* What stands before an array's bytes in a file; its length is a multiple of 64. Element types that
 * numpy lacks: as array_raw_dtype. */
MUST_CHECK Error *npy_write_header(const NamedArray *array, ByteWriter *out);
/* The bytes of a string array's or 4-bit array's elements as they stand in a file; other arrays'
 * bytes stand there as they are, and nothing is written here. */
MUST_CHECK Error *npy_write_elements(const NamedArray *array, ByteWriter *out);
/* Of a string array: the letters that each of its elements takes in a file. */
size_t npy_text_width(const NamedArray *array);
bool npy_is_written_as_is(const NamedArray *array);
