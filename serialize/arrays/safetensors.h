#pragma once
/* safetensors: a JSON header that says where each array's bytes are, and the bytes. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/file.h"
#include "serialize/arrays/array_list.h"

enum { SAFETENSORS_HEADER_SIZE_MAX = 100000000 }; /* as the reference implementation has it */

/* The whole of data is the file. The arrays must tile the bytes behind the header without gap or
 * overlap; __metadata__ is checked and skipped.
 *
 * Errors: CORRUPT; UNSUPPORTED an element type that there is none for; INVALID a shape that no
 *         tensor has, two arrays of one name, a bool other than 0 and 1. */
MUST_CHECK Error *safetensors_read(const void *data, size_t size, ArrayList *out_arrays);

/* Errors: INVALID an element type that safetensors lacks, two arrays of one name; IO. */
MUST_CHECK Error *safetensors_write(const ArrayList *arrays, FileOutput *output);
