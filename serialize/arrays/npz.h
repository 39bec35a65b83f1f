#pragma once
/* numpy's .npz: a zip file of .npy members, named like the arrays. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/file.h"
#include "serialize/arrays/array_list.h"

/* The whole of data is the file. Stored and deflated members are read; NAME.dtype arrays are
 * applied and dropped.
 *
 * bytes_max: of all unpacked members together.
 * Errors:    CORRUPT, UNSUPPORTED, INVALID as npy_read, with the member's name; INVALID a member
 *            that is no .npy, two with one name, more than bytes_max. */
MUST_CHECK Error *npz_read(
    const void *data, size_t size, uint64_t bytes_max, ArrayList *out_arrays);

/* Arrays are written stored (numpy can map them), one after the other, so that no more than the one
 * being written must be in memory. Equal arrays give equal files. */
typedef struct NpzWriter NpzWriter;
/* output: borrowed, to be committed by the caller. */
MUST_CHECK Error *npz_writer_create(FileOutput *output, NpzWriter **out);
void npz_writer_release(NpzWriter *writer);
DEFINE_OWN(NpzWriter, npz_writer_release);
/* And NAME.dtype beside it where numpy lacks the element type.
 *
 * Errors: INVALID a name that was written before; whatever the output returns. */
MUST_CHECK Error *npz_writer_add(NpzWriter *writer, const NamedArray *array);
MUST_CHECK Error *npz_writer_finish(NpzWriter *writer);
/* For tests: zip64 from sizes and offsets of this many bytes on, not from 4 GiB. */
void npz_writer_set_zip64_from(NpzWriter *writer, uint64_t bytes);
