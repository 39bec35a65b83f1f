#include "compiler/ir/arena.h"

#include <stdint.h>
#include <string.h>

#include "base/allocator.h"
#include "base/checked.h"

enum { ARENA_PAGE_SIZE = 64 << 10 };

typedef struct ArenaPage {
    struct ArenaPage *next;
    size_t size; /* bytes of data */
    _Alignas(16) unsigned char data[];
} ArenaPage;

static Error *page_add(Arena *arena, size_t size) {
    void *block;
    TRY(memory_alloc(1, sizeof(ArenaPage) + size, &block));
    ArenaPage *page = block;
    page->size = size;
    page->next = arena->pages;
    arena->pages = page;
    arena->used = 0;
    return NULL;
}

Error *arena_alloc(Arena *arena, size_t count, size_t size, void **out) {
    size_t bytes;
    if (!checked_mul_size(count, size, &bytes) || bytes > SIZE_MAX / 2)
        FAIL(EXHAUSTED, "%zu elements of %zu bytes are too many", count, size);
    if (bytes == 0) {
        *out = NULL;
        return NULL;
    }
    bytes = (bytes + 15) & ~(size_t)15;
    if (!arena->pages || arena->pages->size - arena->used < bytes)
        TRY(page_add(arena, bytes > ARENA_PAGE_SIZE ? bytes : ARENA_PAGE_SIZE));
    *out = arena->pages->data + arena->used;
    arena->used += bytes;
    return NULL;
}

Error *arena_copy(Arena *arena, const void *data, size_t count, size_t size, void **out) {
    void *copy;
    TRY(arena_alloc(arena, count, size, &copy));
    if (copy) memcpy(copy, data, count * size);
    *out = copy;
    return NULL;
}

void arena_deinit(Arena *arena) {
    ArenaPage *page = arena->pages;
    while (page) {
        ArenaPage *next = page->next;
        memory_free(page);
        page = next;
    }
    *arena = (Arena){0};
}
