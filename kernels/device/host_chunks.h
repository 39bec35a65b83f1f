#pragma once
/* Blocks of host memory that are too small for huge pages of their own, cut from chunks that lie on
 * huge pages: otherwise the first writes to a fresh block fault page by page (2 µs each in a
 * virtual machine, which was half of a small network's first run). Called by host_memory.c.
 *
 * A chunk is cut from front to back and each of its bytes is given out once, so that blocks are
 * zero; a chunk is unmapped with its last block. The memory of freed blocks in other chunks is
 * returned to the system when it exceeds HOST_CHUNKS_IDLE_MAX.
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

/* Allocates a zeroed block, aligned to DEVICE_ALIGNMENT. Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *host_chunks_alloc(uint64_t size, void **out_block);
void host_chunks_free(void *block, uint64_t size);

/* The memory of freed blocks, and the number of mapped chunks: for tests. */
typedef struct HostChunksUse {
    uint64_t idle_bytes, chunks;
} HostChunksUse;
HostChunksUse host_chunks_use(void);
