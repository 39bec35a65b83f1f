#pragma once
/* Memory that is freed all at once, for a module of the IR. Threads: one at a time per arena. */
#include <stddef.h>

#include "base/error.h"

typedef struct Arena {
    struct ArenaPage *pages;
    size_t used; /* bytes used of the newest page */
} Arena;

/* Allocates cleared memory, aligned to 16 bytes. out is NULL for a size of 0. Errors:
 * OUT_OF_MEMORY. */
MUST_CHECK Error *arena_alloc(Arena *arena, size_t count, size_t size, void **out);
/* Copies count * size bytes into the arena. */
MUST_CHECK Error *arena_copy(Arena *arena, const void *data, size_t count, size_t size, void **out);
void arena_deinit(Arena *arena);
