#pragma once
/* Whole files, read within a limit and written so that a crash of the program leaves the old
 * content or the new, never half. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Errors: NOT_FOUND, IO; INVALID beyond size_max. Release with memory_unmap(data, size); an empty
 * file gives NULL, 0. */
MUST_CHECK Error *file_read(
    const char *path, size_t size_max, uint8_t **out_data, size_t *out_size);
/* Reads an open descriptor from its start; path is for messages. */
MUST_CHECK Error *file_read_descriptor(
    int descriptor, const char *path, size_t size_max, uint8_t **out_data, size_t *out_size);

/* A file being written beside its final path, or beside what a symbolic link there leads to.
 * Nothing appears under the path before file_output_commit or file_output_publish; a file that was
 * there leaves its rights. Into a device, such as /dev/null, is written at once. Errors: IO;
 * INVALID something else is there that is no file. */
typedef struct FileOutput FileOutput;
MUST_CHECK Error *file_output_create(const char *path, FileOutput **out);
/* Errors: IO (EXHAUSTED when the disk is full). */
MUST_CHECK Error *file_output_write(FileOutput *output, const void *data, size_t size);
/* Writes at an offset already written or beyond the end. */
MUST_CHECK Error *file_output_write_at(
    FileOutput *output, uint64_t offset, const void *data, size_t size);
uint64_t file_output_size(const FileOutput *output);
/* Syncs, renames over the path, syncs the folder: a power cut leaves the old content or the new. */
MUST_CHECK Error *file_output_commit(FileOutput *output);
/* Renames over the path, and leaves it to the system when that reaches the disk, as cp and numpy
 * do: a killed process leaves the old content or the new, a power cut within the next seconds may
 * leave neither. For what can be made again. */
MUST_CHECK Error *file_output_publish(FileOutput *output);
/* Removes the temporary file unless it was committed or published. */
void file_output_release(FileOutput *output);
DEFINE_OWN(FileOutput, file_output_release);

MUST_CHECK Error *file_write_atomic(const char *path, const void *data, size_t size);
