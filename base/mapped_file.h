#pragma once
/* A file mapped for reading, with a guard. Bytes that become unreadable (the file was truncated,
 * the disk fails) read as zero and mark the mapping as damaged; without the guard SIGBUS would kill
 * the process. Caller: weight_file.c in store/weights.
 *
 * A reader calls mapped_file_is_damaged after reading, before it trusts its results. The first
 * mapping installs a handler of SIGBUS for the whole process; a fault elsewhere goes to the
 * previous handler.
 * Threads: any. */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct MappedFile MappedFile;

enum { MAPPED_FILES_MAX = 4096 }; /* mappings in a process at once */

/* Maps the first size bytes of an open file, which may be closed afterwards. Reference-counted.
 * Errors: INVALID the file is shorter, or size is 0; EXHAUSTED MAPPED_FILES_MAX are open; IO. */
MUST_CHECK Error *mapped_file_open(int descriptor, uint64_t size, MappedFile **out);
MappedFile *mapped_file_retain(MappedFile *file);
void mapped_file_release(MappedFile *file);
DEFINE_OWN(MappedFile, mapped_file_release);

/* Returns the page-aligned data, which lives as long as the mapping. */
const uint8_t *mapped_file_data(const MappedFile *file);
uint64_t mapped_file_size(const MappedFile *file);
/* Returns whether any byte was unreadable so far. The answer true is final. */
bool mapped_file_is_damaged(const MappedFile *file);
