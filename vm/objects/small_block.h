#pragma once
/* Memory of small objects whose size is known when they die: shapes, tuples, closures. A thread
 * keeps the blocks that it frees for the next objects, so that making one takes no call of malloc;
 * they go back to the system when the thread ends. Callers: the objects. Threads: any; a block may
 * be freed on another thread than the one that took it.
 *
 * A build with a sanitizer keeps nothing, so that every use of a freed object is seen. */
#include <stddef.h>

#include "base/error.h"

enum {
    SMALL_BLOCK_STEP = 16,
    SMALL_BLOCK_BYTES_MAX = 128, /* larger ones are the allocator's */
    SMALL_BLOCK_KEPT_MAX = 64,   /* of each size, by a thread */
};

/* Takes memory of any size, above 0; its content is undefined. Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *small_block_take(size_t size, void **out);
/* size: as it was taken. NULL does nothing. */
void small_block_free(void *block, size_t size);
/* How many blocks of that size the calling thread keeps. */
size_t small_block_kept(size_t size);
