#pragma once
/* What an .npz file says of its arrays, read without unpacking them: whoever takes files from
 * outside looks at names, types, shapes and sizes first. */
#include "serialize/arrays/array_list.h"
#include "serialize/arrays/npy.h"
#include "serialize/arrays/zip_directory.h"

typedef struct NpzArray {
    char *name;
    DType dtype; /* what NAME.dtype says, or what its header does */
    Shape shape;
    uint64_t bytes; /* of the array in memory; of strings: of the elements as they are written */
    NpyForm form;
    const ZipMember *member;
} NpzArray;

typedef struct NpzFile {
    ZipDirectory directory;
    NpzArray *items; /* in the file's order, without NAME.dtype */
    size_t count;
    uint64_t bytes; /* of all of them */
} NpzFile;

enum { NPZ_ARRAYS_MAX = 1 << 17 };

/* Takes memory for the names alone, whatever the arrays' sizes are. data: borrowed as long as the
 * file.
 *
 * bytes_max: of all unpacked members together, by the directory.
 * Errors: as npz_read. */
MUST_CHECK Error *npz_file_open(const void *data, size_t size, uint64_t bytes_max, NpzFile *out);
void npz_file_close(NpzFile *file);
#define OWN_NPZ(name) __attribute__((cleanup(npz_file_close))) name

/* Whether the array's bytes can be had piece by piece (npz_stream.h). */
bool npz_array_is_streamable(const NpzArray *array);
/* Upper bound on the memory that npz_array_read takes, the array itself with it. */
uint64_t npz_array_read_bytes(const NpzArray *array);
/* The whole array. Errors: as npz_read. */
MUST_CHECK Error *npz_array_read(const NpzArray *array, NamedArray *out_array);
/* All arrays of the file, behind those that are in the list. Errors: as npz_read. */
MUST_CHECK Error *npz_file_read(const NpzFile *file, ArrayList *inout_arrays);
/* Another of the same name, type and shape whose elements are zeros or empty strings: large ones
 * are memory that nobody has touched. */
MUST_CHECK Error *npz_array_outline(const NpzArray *array, NamedArray *out_array);
