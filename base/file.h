#pragma once
/* Whole files, read within a limit and written so that a crash of the program leaves the old
 * content or the new one, never half. Callers: serialize/, store/, scheduler/, tools/. Threads:
 * any; one at a time per output. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mapped_file.h"

/* Reads a file. Release with memory_unmap(data, size); an empty file gives NULL, 0.
 * Errors: NOT_FOUND, IO; INVALID beyond size_max. */
MUST_CHECK Error *file_read(
    const char *path, size_t size_max, uint8_t **out_data, size_t *out_size);
/* Reads an open descriptor from its start; path is for messages. */
MUST_CHECK Error *file_read_descriptor(
    int descriptor, const char *path, size_t size_max, uint8_t **out_data, size_t *out_size);

/* Maps a file instead of reading it; an empty file gives NULL. Its bytes may change while they are
 * read, and mapped_file_is_damaged tells whether some were missing. Errors: as file_read. */
MUST_CHECK Error *file_map(const char *path, size_t size_max, MappedFile **out);

/* A file being written beside its final path, or beside the target of a symbolic link there.
 * Nothing appears under the path before file_output_commit or file_output_publish; a replaced file
 * passes its rights on. A device, such as /dev/null, is written directly. Errors: IO; INVALID the
 * path names something that is not a file. */
typedef struct FileOutput FileOutput;
MUST_CHECK Error *file_output_create(const char *path, FileOutput **out);
/* The same, but only the file's owner may read and write the file, whatever rights a replaced file
 * had. Errors: also INVALID the path names a device. */
MUST_CHECK Error *file_output_create_private(const char *path, FileOutput **out);
/* Errors: IO (EXHAUSTED when the disk is full). */
MUST_CHECK Error *file_output_write(FileOutput *output, const void *data, size_t size);
/* Writes at an offset already written or beyond the end. */
MUST_CHECK Error *file_output_write_at(
    FileOutput *output, uint64_t offset, const void *data, size_t size);
uint64_t file_output_size(const FileOutput *output);
/* Syncs, renames over the path, syncs the folder: a power cut leaves the old content or the new
 * one. */
MUST_CHECK Error *file_output_commit(FileOutput *output);
/* Renames over the path without a sync, as cp and numpy do: a killed process leaves the old content
 * or the new one, a power cut within the next seconds may leave neither. For files that can be made
 * again. */
MUST_CHECK Error *file_output_publish(FileOutput *output);
/* Removes the temporary file unless it was committed or published. */
void file_output_release(FileOutput *output);
DEFINE_OWN(FileOutput, file_output_release);

MUST_CHECK Error *file_write_atomic(const char *path, const void *data, size_t size);
