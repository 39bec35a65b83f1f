#pragma once
/* Reads names, types, shapes and sizes of an .npz file's arrays without unpacking them, so that
 * files from outside are checked first. Callers: intake_inputs.c in scheduler/jobs, run_inputs.c in
 * tools/client, npz_read.c. Threads: any; one at a time per file. */
#include "serialize/arrays/array_list.h"
#include "serialize/arrays/npy.h"
#include "serialize/arrays/zip_directory.h"

typedef struct NpzArray {
    char *name;
    DType dtype; /* the type in NAME.dtype, or in the array's header */
    Shape shape;
    uint64_t bytes; /* of the array in memory; of strings: of the elements in the file */
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

/* Opens a file. Allocates memory for the names, not for the arrays. data: must outlive the file.
 *
 * bytes_max: of all unpacked members together, by the directory.
 * Errors: as npz_read. */
MUST_CHECK Error *npz_file_open(const void *data, size_t size, uint64_t bytes_max, NpzFile *out);
void npz_file_close(NpzFile *file);
#define OWN_NPZ(name) __attribute__((cleanup(npz_file_close))) name

/* Returns whether the array's bytes can be read piece by piece (npz_stream.h). */
bool npz_array_is_streamable(const NpzArray *array);
/* Returns an upper bound on the memory that npz_array_read takes, including the array itself. */
uint64_t npz_array_read_bytes(const NpzArray *array);
/* Reads the whole array. Errors: as npz_read. */
MUST_CHECK Error *npz_array_read(const NpzArray *array, NamedArray *out_array);
/* Appends all arrays of the file to the list. Errors: as npz_read. */
MUST_CHECK Error *npz_file_read(const NpzFile *file, ArrayList *inout_arrays);
/* Makes an array of the same name, type and shape with zeros or empty strings. The memory of a
 * large one stays untouched. */
MUST_CHECK Error *npz_array_outline(const NpzArray *array, NamedArray *out_array);
