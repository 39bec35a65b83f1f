#pragma once
/* Reads and writes numpy's .npz format: a zip file of .npy members, named like the arrays. Callers:
 * tools/client. Threads: any; one at a time per writer. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/file.h"
#include "serialize/arrays/array_list.h"

/* Reads a file in memory; data is the whole file. Members may be stored or deflated; NAME.dtype
 * arrays are applied and dropped.
 *
 * bytes_max: of all unpacked members together.
 * Errors:    CORRUPT, UNSUPPORTED, INVALID as npy_read, with the member's name; INVALID a member
 *            that is no .npy, two with one name, more than bytes_max. */
MUST_CHECK Error *npz_read(
    const void *data, size_t size, uint64_t bytes_max, ArrayList *out_arrays);

/* Writes arrays one after the other, stored (numpy can map them), so that only the present array
 * must be in memory. Equal arrays give equal files. */
typedef struct NpzWriter NpzWriter;
/* output: must outlive the writer; the caller commits it. */
MUST_CHECK Error *npz_writer_create(FileOutput *output, NpzWriter **out);
void npz_writer_release(NpzWriter *writer);
DEFINE_OWN(NpzWriter, npz_writer_release);
/* Writes an array, and NAME.dtype beside it when numpy lacks the element type.
 *
 * Errors: INVALID a name that was written before; whatever the output returns. */
MUST_CHECK Error *npz_writer_add(NpzWriter *writer, const NamedArray *array);
MUST_CHECK Error *npz_writer_finish(NpzWriter *writer);
/* For tests: uses zip64 from sizes and offsets of this many bytes on, not from 4 GiB. */
void npz_writer_set_zip64_from(NpzWriter *writer, uint64_t bytes);
