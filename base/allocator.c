#include "base/allocator.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/checked.h"

enum { HUGE_PAGE_BYTES = 2 << 20, SMALL_PAGE_BYTES = 4 << 10, ARRAY_COUNT_MIN = 8 };
enum { CACHE_LINE_BYTES = 64 };

/* glibc's malloc takes small blocks from a cache of the thread; glibc's calloc before 2.41 takes
 * the arena's lock. NULL means that memory ran out: 0 bytes get a block, too, since callers take
 * NULL for "absent". */
static void *alloc_cleared(size_t bytes) {
    enum { SMALL = 1024 };
    if (bytes > SMALL) return calloc(bytes, 1);
    void *block = malloc(bytes ? bytes : 1);
    if (block) memset(block, 0, bytes);
    return block;
}

Error *memory_alloc(size_t count, size_t size, void **out) {
    size_t bytes;
    bool fits = checked_mul_size(count, size, &bytes);
    void *block = fits ? alloc_cleared(bytes) : NULL;
    if (!block) FAIL(OUT_OF_MEMORY, "no memory for %zu elements of %zu bytes", count, size);
    *out = block;
    return NULL;
}

Error *memory_alloc_lines(size_t count, size_t size, void **out) {
    size_t bytes;
    void *block = NULL;
    if (checked_mul_size(count, size, &bytes) && bytes <= SIZE_MAX - CACHE_LINE_BYTES) {
        const size_t lines = bytes / CACHE_LINE_BYTES + 1; /* never none */
        block = aligned_alloc(CACHE_LINE_BYTES, lines * CACHE_LINE_BYTES);
    }
    if (!block) FAIL(OUT_OF_MEMORY, "no memory for %zu elements of %zu bytes", count, size);
    *out = memset(block, 0, bytes);
    return NULL;
}

Error *memory_resize(void **inout, size_t count, size_t size) {
    size_t bytes;
    if (!checked_mul_size(count, size, &bytes))
        FAIL(OUT_OF_MEMORY, "no memory for %zu elements of %zu bytes", count, size);
    void *block = realloc(*inout, bytes ? bytes : 1);
    if (!block) FAIL(OUT_OF_MEMORY, "no memory for %zu bytes", bytes);
    *inout = block;
    return NULL;
}

Error *memory_copy_text(const char *text, char **out) {
    size_t size = strlen(text) + 1;
    void *copy;
    TRY(memory_alloc(size, 1, &copy));
    memcpy(copy, text, size);
    *out = copy;
    return NULL;
}

void memory_free(void *block) { free(block); }

Error *memory_grow(void **inout_array, size_t count, size_t *inout_capacity, size_t element_size) {
    if (count < *inout_capacity) return NULL;
    size_t capacity = *inout_capacity < ARRAY_COUNT_MIN ? ARRAY_COUNT_MIN : *inout_capacity * 2;
    TRY(memory_resize(inout_array, capacity, element_size));
    *inout_capacity = capacity;
    return NULL;
}

/* Rounds up to huge pages if most of the last one is used, since small pages would fault one by
 * one. A block of 2.4 MiB is not rounded: it would take 4 MiB, which the system would clear. */
static size_t mapped_size(size_t size) {
    const size_t page = size % HUGE_PAGE_BYTES >= HUGE_PAGE_BYTES / 2 && size > HUGE_PAGE_BYTES
                            ? HUGE_PAGE_BYTES
                            : SMALL_PAGE_BYTES;
    return (size + page - 1) & ~(page - 1);
}

Error *memory_map(size_t size, void **out) {
    if (size == 0 || size > SIZE_MAX / 4) FAIL(OUT_OF_MEMORY, "no memory for %zu bytes", size);
    size_t rounded = mapped_size(size);
    bool huge = rounded >= HUGE_PAGE_BYTES;
    size_t reserve = huge ? rounded + HUGE_PAGE_BYTES : rounded;
    char *start = mmap(NULL, reserve, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) FAIL(OUT_OF_MEMORY, "no memory for %zu bytes", size);
    if (huge) {
        /* trims to a 2 MiB boundary, so that every page but the last can be a huge one */
        size_t head = (size_t)(-(uintptr_t)start & (HUGE_PAGE_BYTES - 1));
        if (head) (void)munmap(start, head);
        if (reserve - head - rounded)
            (void)munmap(start + head + rounded, reserve - head - rounded);
        start += head;
        (void)madvise(
            start, rounded, MADV_HUGEPAGE); /* a hint; without it the memory is only slower */
    }
    *out = start;
    return NULL;
}

void memory_unmap(void *block, size_t size) {
    if (block) (void)munmap(block, mapped_size(size));
}

uint64_t memory_machine_bytes(void) {
    const long pages = sysconf(_SC_PHYS_PAGES), page_size = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_size > 0 ? (uint64_t)pages * (uint64_t)page_size : 0;
}
