#include "base/allocator.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/checked.h"

enum { HUGE_PAGE_BYTES = 2 << 20, SMALL_PAGE_BYTES = 4 << 10, ARRAY_COUNT_MIN = 8 };
enum { CACHE_LINE_BYTES = 64 };

static void *system_resize(void *self, void *old, size_t old_size, size_t new_size) {
    (void)self;
    (void)old_size;
    if (new_size == 0) {
        free(old);
        return NULL;
    }
    return realloc(old, new_size);
}

static const AllocatorClass system_class = {system_resize};

Allocator allocator_system(void) { return (Allocator){&system_class, NULL}; }

static void *limited_resize(void *self, void *old, size_t old_size, size_t new_size) {
    LimitedAllocator *limited = self;
    size_t used = atomic_fetch_add(&limited->used_bytes, new_size) + new_size;
    if (new_size > 0 && used - old_size > limited->limit_bytes) {
        atomic_fetch_sub(&limited->used_bytes, new_size);
        return NULL;
    }
    void *block = limited->parent.class_->resize(limited->parent.self, old, old_size, new_size);
    if (new_size > 0 && !block)
        atomic_fetch_sub(&limited->used_bytes, new_size);
    else
        atomic_fetch_sub(&limited->used_bytes, old_size);
    return block;
}

static const AllocatorClass limited_class = {limited_resize};

Allocator allocator_limited(LimitedAllocator *limited) {
    return (Allocator){&limited_class, limited};
}

static void *failing_resize(void *self, void *old, size_t old_size, size_t new_size) {
    FailingAllocator *failing = self;
    if (new_size > 0) {
        uint64_t n = atomic_fetch_add(&failing->count, 1) + 1;
        if (failing->fail_at &&
            (n == failing->fail_at || (failing->sticky && n > failing->fail_at)))
            return NULL;
    }
    return failing->parent.class_->resize(failing->parent.self, old, old_size, new_size);
}

static const AllocatorClass failing_class = {failing_resize};

Allocator allocator_failing(FailingAllocator *failing) {
    return (Allocator){&failing_class, failing};
}

Error *allocator_alloc(Allocator allocator, size_t size, void **out) {
    void *block = NULL;
    if (size > 0) {
        block = allocator.class_->resize(allocator.self, NULL, 0, size);
        if (!block) FAIL(OUT_OF_MEMORY, "no memory for %zu bytes", size);
    }
    *out = block;
    return NULL;
}

Error *allocator_alloc_array(Allocator allocator, size_t count, size_t size, void **out) {
    size_t bytes;
    if (!checked_mul_size(count, size, &bytes))
        FAIL(OUT_OF_MEMORY, "no memory for %zu elements of %zu bytes", count, size);
    void *block;
    TRY(allocator_alloc(allocator, bytes, &block));
    if (block) memset(block, 0, bytes);
    *out = block;
    return NULL;
}

Error *allocator_resize(Allocator allocator, void **inout, size_t old_size, size_t new_size) {
    void *block = allocator.class_->resize(allocator.self, *inout, old_size, new_size);
    if (!block && new_size > 0) FAIL(OUT_OF_MEMORY, "no memory for %zu bytes", new_size);
    *inout = block;
    return NULL;
}

void allocator_free(Allocator allocator, void *block, size_t size) {
    if (block) (void)allocator.class_->resize(allocator.self, block, size, 0);
}

/* glibc's malloc finds small blocks in the thread's own cache; its calloc, before 2.41, takes the
 * arena's lock. NULL where there is none, never for no bytes: callers would take that for "absent".
 */
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

/* Rounded to huge pages where most of the last one is used: small ones would fault one by one. A
 * block of 2.4 MiB would take, and have the system clear, 4. */
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
        /* trim to a 2 MiB boundary so that every page but the last can be a huge one */
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
