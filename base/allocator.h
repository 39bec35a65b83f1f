#pragma once
/* The source of memory for all folders: this module and error.c are the only callers of malloc.
 * Threads: any. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Allocates plain system memory for small things; release with memory_free. Errors: OUT_OF_MEMORY.
 */
MUST_CHECK Error *memory_alloc(size_t count, size_t size, void **out); /* cleared */
/* Allocates memory in cache lines of its own, for data that many threads read all the time: in a
 * line shared with written data, every reader would wait for the writer. */
MUST_CHECK Error *memory_alloc_lines(size_t count, size_t size, void **out);
MUST_CHECK Error *memory_resize(
    void **inout, size_t count, size_t size); /* new bytes not cleared */
MUST_CHECK Error *memory_copy_text(const char *text, char **out);
void memory_free(void *block);
/* Makes room for one more element in a growable array: doubles capacity when count == capacity. */
MUST_CHECK Error *memory_grow(
    void **inout_array, size_t count, size_t *inout_capacity, size_t element_size);

/* Returns the machine's memory in bytes; 0: the system does not tell. */
uint64_t memory_machine_bytes(void);

/* Maps large page-aligned memory, zeroed, on huge pages from 2 MiB on (fresh 4 KiB pages limit a
 * load to 2.9 GB/s, huge ones to 12). Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *memory_map(size_t size, void **out);
void memory_unmap(void *block, size_t size);
