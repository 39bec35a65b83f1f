#pragma once
/* Symbols of a library (ELF, 64 bits, little-endian) that is in memory as data. Caller:
 * relax_library.c. Pure: no state, any thread. */
#include <stdbool.h>

#include "base/bytes.h"

/* Finds the first of the names that the library defines; its bytes stay where they are in data.
 *
 * out_name: its index among the names.
 * Errors:   CORRUPT no library, or one whose tables point outside the file; UNSUPPORTED a library
 *           for another processor, or without any of the symbols. */
MUST_CHECK Error *relax_elf_find(const void *data, size_t size, const char *const *names,
    size_t name_count, const uint8_t **out_data, size_t *out_size, size_t *out_name);
/* Whether a library exports a symbol of that name to others: a function or a variable, which may
 * have no bytes in the file. Errors: CORRUPT, UNSUPPORTED a library for another processor. */
MUST_CHECK Error *relax_elf_exports(
    const void *data, size_t size, const char *name, bool *out_exported);
