#pragma once
/* Relax executables in files: raw (.bin) or in a library that TVM exported (.so). Callers:
 * model_file.c, command_disasm.c, command_inspect.c, command_export.c. Threads: the main thread. */
#include "base/file.h"
#include "serialize/relax/relax_file.h"
#include "vm/code/executable.h"

/* Largest file that is read. */
#define RELAX_FILE_SIZE_MAX ((size_t)16 << 30)

/* Whether a file is read as a Relax executable: by its first bytes, or by its ending where these
 * are of no kind that is known. */
bool model_relax_is_file(const char *path, const uint8_t *head, size_t size);
/* Reads and checks a file. *out_relax points into *out_file. Errors start with the path. */
MUST_CHECK Error *model_relax_open(const char *path, MappedFile **out_file, RelaxFile **out_relax);
/* Reads, checks and translates a file. */
MUST_CHECK Error *model_relax_load(const char *path, Executable **out_executable);
/* Writes the file that a translated executable was made from. */
MUST_CHECK Error *model_relax_write(
    const Executable *executable, const char *path, uint64_t *out_bytes);
