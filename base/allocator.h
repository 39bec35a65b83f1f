#pragma once
/* Where memory comes from: the system, a limited share of it (a tenant), or a failing one (tests).
 *
 * The only file that calls malloc (with error.c). Every create function that makes more than a
 * fixed amount takes an Allocator; small bookkeeping may use allocator_system(). */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct Allocator {
    const struct AllocatorClass *class_;
    void *self;
} Allocator;

typedef struct AllocatorClass {
    /* Changes the size of a block; old NULL allocates, new_size 0 frees. NULL when there is no
     * memory; the old block then stays. Blocks are aligned to 16 bytes; new bytes are NOT cleared.
     */
    void *(*resize)(void *self, void *old, size_t old_size, size_t new_size);
} AllocatorClass;

Allocator allocator_system(void);

/* Counts bytes and fails beyond a limit. The struct is the caller's and must outlive every block.
 */
typedef struct LimitedAllocator {
    Allocator parent;
    size_t limit_bytes;
    _Atomic size_t used_bytes;
} LimitedAllocator;
Allocator allocator_limited(LimitedAllocator *limited);

/* Fails the n-th allocation (1-based) and every one after it when sticky. For the fault suite. */
typedef struct FailingAllocator {
    Allocator parent;
    uint64_t fail_at;
    _Atomic uint64_t count;
    int sticky;
} FailingAllocator;
Allocator allocator_failing(FailingAllocator *failing);

/* out receives NULL for size 0. Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *allocator_alloc(Allocator allocator, size_t size, void **out);
/* The same, cleared to zero; count * size is checked. */
MUST_CHECK Error *allocator_alloc_array(Allocator allocator, size_t count, size_t size, void **out);
/* Grows or shrinks *inout in place; on failure *inout stays valid with its old size. */
MUST_CHECK Error *allocator_resize(
    Allocator allocator, void **inout, size_t old_size, size_t new_size);
void allocator_free(Allocator allocator, void *block, size_t size);

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

/* Large page-aligned memory, zeroed, on huge pages where it is 2 MiB or more (fresh 4 KiB pages cap
 * a load at 2.9 GB/s, huge ones at 12). Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *memory_map(size_t size, void **out);
void memory_unmap(void *block, size_t size);
