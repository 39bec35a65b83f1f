#pragma once
/* Blocks of host memory too small for huge pages of their own, cut from chunks that lie on them: a
 * fresh block's first writes would fault page by page (2 µs each in a virtual machine, which made
 * them half of a small network's first run).
 *
 * A chunk is cut from front to back and each of its bytes given out once, so that blocks are zero;
 * it goes back to the system with its last block. What given-back blocks of other chunks still hold
 * goes back when it is more than HOST_CHUNKS_IDLE_MAX.
 *
 * Threads: any. */
#include <stdint.h>

#include "base/error.h"

/* size of a block: HOST_CHUNKS_BLOCK_MIN … HOST_CHUNKS_BLOCK_MAX */
enum {
    HOST_CHUNKS_BLOCK_MIN = 8 << 10,
    HOST_CHUNKS_BLOCK_MAX = (2 << 20) - 1,
    HOST_CHUNKS_IDLE_MAX = 16 << 20,
};

/* Zeroed, aligned to DEVICE_ALIGNMENT. Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *host_chunks_alloc(uint64_t size, void **out_block);
void host_chunks_free(void *block, uint64_t size);

/* What given-back blocks still hold, and whole chunks that are mapped: for tests. */
typedef struct HostChunksUse {
    uint64_t idle_bytes, chunks;
} HostChunksUse;
HostChunksUse host_chunks_use(void);
