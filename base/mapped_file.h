#pragma once
/* A file mapped for reading, with a guard: bytes that cannot be read any more (the file was
 * truncated, the disk fails) read as zero and mark the mapping as damaged, where the process would
 * otherwise be killed by SIGBUS.
 *
 * Whoever reads bytes asks mapped_file_is_damaged afterwards, before it believes what it made of
 * them. Mapping installs a handler of SIGBUS for the whole process; a fault anywhere else is given
 * back to the handler that was there before. Threads: any. */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct MappedFile MappedFile;

enum { MAPPED_FILES_MAX = 4096 }; /* in a process at once */

/* The first size bytes of an open file, which may be closed afterwards. Counted.
 * Errors: INVALID the file is shorter, or size is 0; EXHAUSTED MAPPED_FILES_MAX are there; IO. */
MUST_CHECK Error *mapped_file_open(int descriptor, uint64_t size, MappedFile **out);
MappedFile *mapped_file_retain(MappedFile *file);
void mapped_file_release(MappedFile *file);
DEFINE_OWN(MappedFile, mapped_file_release);

/* Page-aligned; as long as the file is held. */
const uint8_t *mapped_file_data(const MappedFile *file);
uint64_t mapped_file_size(const MappedFile *file);
/* Whether any byte could not be read so far. It stays so. */
bool mapped_file_is_damaged(const MappedFile *file);
