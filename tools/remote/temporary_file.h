#pragma once
/* A file for the time of one command, in $TMPDIR or /tmp. Callers: job_inputs.c, output_pieces.c.
 * Threads: one at a time per file. */
#include <stdbool.h>

#include "base/error.h"

typedef struct TemporaryFile {
    char path[4096];
    bool exists;
} TemporaryFile;

/* Errors: IO. */
MUST_CHECK Error *temporary_file_create(TemporaryFile *out);
/* Deletes the file. */
void temporary_file_delete(TemporaryFile *file);
#define OWN_TEMPORARY(name) __attribute__((cleanup(temporary_file_delete))) name
