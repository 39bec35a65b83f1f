#pragma once
/* Reads and writes safetensors files: a JSON header that gives the place of each array's bytes, and
 * the bytes. Caller: run_inputs.c in tools/client. Pure: no state, any thread. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/file.h"
#include "serialize/arrays/array_list.h"

enum { SAFETENSORS_HEADER_SIZE_MAX = 100000000 }; /* the limit of the reference implementation */

/* Reads a file in memory; data is the whole file. The arrays must fill the bytes behind the header
 * without gap or overlap; __metadata__ is checked and skipped.
 *
 * Errors: CORRUPT; UNSUPPORTED an unknown element type; INVALID a shape that no tensor has, two
 *         arrays of one name, a bool other than 0 and 1. */
MUST_CHECK Error *safetensors_read(const void *data, size_t size, ArrayList *out_arrays);

/* Writes a file. Errors: INVALID an element type that safetensors lacks, two arrays of one name;
 * IO. */
MUST_CHECK Error *safetensors_write(const ArrayList *arrays, FileOutput *output);
