#pragma once
/* numpy's .npy: one array. Versions 1 to 3; either byte order and either element order are read,
 * little-endian row-major is written. Strings: U (UTF-32) and S (which must be UTF-8). */
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "serialize/array_list.h"

/* The whole of data is the file.
 *
 * name:   copied into the array.
 * Errors: CORRUPT; UNSUPPORTED objects, records, complex numbers, times; INVALID a shape that no
 *         tensor has, a bool other than 0 and 1. */
MUST_CHECK Error *npy_read(const void *data, size_t size, const char *name, NamedArray *out_array);

/* What stands before an array's bytes in a file; its length is a multiple of 64. Element types that
 * numpy lacks: as array_raw_dtype. */
MUST_CHECK Error *npy_write_header(const NamedArray *array, ByteWriter *out);
/* The bytes of a string array's or 4-bit array's elements as they stand in a file; other arrays'
 * bytes stand there as they are, and nothing is written here. */
MUST_CHECK Error *npy_write_elements(const NamedArray *array, ByteWriter *out);
bool npy_is_written_as_is(const NamedArray *array);
