#pragma once
/* Where memory comes from. The only file that calls malloc (with error.c). */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Plain system memory for small things: release with memory_free. Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *memory_alloc(size_t count, size_t size, void **out); /* cleared */
/* The same in cache lines of its own, for what many threads read all the time: in a line with what
 * one of them writes, each would wait for it. */
MUST_CHECK Error *memory_alloc_lines(size_t count, size_t size, void **out);
MUST_CHECK Error *memory_resize(
    void **inout, size_t count, size_t size); /* new bytes not cleared */
MUST_CHECK Error *memory_copy_text(const char *text, char **out);
void memory_free(void *block);
/* Makes room for one more element in a growable array: doubles capacity when count == capacity. */
MUST_CHECK Error *memory_grow(
    void **inout_array, size_t count, size_t *inout_capacity, size_t element_size);

/* Bytes of memory that the machine has; 0: the system does not tell. */
uint64_t memory_machine_bytes(void);

/* Large page-aligned memory, zeroed, on huge pages where it is 2 MiB or more (fresh 4 KiB pages cap
 * a load at 2.9 GB/s, huge ones at 12). Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *memory_map(size_t size, void **out);
void memory_unmap(void *block, size_t size);
