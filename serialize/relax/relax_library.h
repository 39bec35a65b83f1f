#pragma once
/* Finds the Relax executable in what TVM writes: a raw file, or a library (.so) that export_library
 * made. A library is read as data and never loaded. Callers: tools/client, tests. Pure: no state,
 * any thread.
 *
 * Stored as: docs/relax.md */
#include <stdbool.h>

#include "serialize/relax/relax_file.h"

/* Whether data starts like a library (an ELF file). 4 bytes suffice. */
bool relax_library_probe(const void *data, size_t size);
/* Finds the bytes for relax_file_read, which stay where they are in data.
 *
 * library: data must be a library, whatever it starts like.
 * Errors: UNSUPPORTED a library for another processor, or without a Relax executable; CORRUPT. */
MUST_CHECK Error *relax_library_find(
    const void *data, size_t size, bool library, const uint8_t **out_data, size_t *out_size);
/* A graph of TVM's graph executor that TVM up to 0.19 put into a library with its params. */
typedef struct RelaxLibraryGraph {
    const uint8_t *json;
    size_t json_size;
    const uint8_t *params; /* a count, names and tensors, and what follows them */
    size_t params_size;
    size_t blob_begin, blob_size; /* where the modules are in data: json, params and others */
} RelaxLibraryGraph;

/* Finds such a graph, whose bytes stay where they are in data. Errors: CORRUPT, UNSUPPORTED the
 * library cannot be read. */
MUST_CHECK Error *relax_library_find_graph(
    const void *data, size_t size, bool *out_found, RelaxLibraryGraph *out);
/* Whether a library exports a compiled function of that name, as TVM from 0.21 on or as an older
 * one compiles it (docs/native.md). Errors: CORRUPT, UNSUPPORTED the library cannot be read. */
MUST_CHECK Error *relax_library_exports(
    const void *data, size_t size, const char *name, bool *out_exported);
/* Whether a library exports compiled code for any packed or native function of the file. */
bool relax_library_has_code(const void *data, size_t size, const RelaxFile *file);
/* Finds the Relax module among the modules of a library: blob is the symbol's value. */
MUST_CHECK Error *relax_library_unpack(
    const void *blob, size_t size, bool older, const uint8_t **out_data, size_t *out_size);
