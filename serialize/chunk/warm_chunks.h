#pragma once
/* Chunks whose raw bytes are already in memory, by name. They are copied from there instead of
 * being fetched and decoded. The caller (warm_storages.c) keeps the bytes unchanged. Threads: one
 * at a time per set. */
#include "serialize/chunk/chunk.h"

typedef struct WarmChunk {
    ChunkRef ref;
    const void *bytes; /* not owned */
} WarmChunk;

typedef struct WarmChunks {
    WarmChunk *items;
    size_t count, capacity;
    bool is_sorted;
} WarmChunks;

void warm_chunks_deinit(WarmChunks *chunks);
/* Adds chunks that are adjacent in memory. */
MUST_CHECK Error *warm_chunks_add(
    WarmChunks *chunks, const ChunkRef *refs, size_t count, const void *bytes);

/* Reads runs like chunk_read_data and copies the chunks that the set has. inout_copied,
 * inout_decoded: the call adds raw bytes. The runs' memory must not overlap the chunks'. */
MUST_CHECK Error *warm_chunks_read(WarmChunks *chunks, WorkerPool *pool, const ChunkRun *runs,
    size_t run_count, ChunkVerify verify, ChunkSource source, uint64_t *inout_copied,
    uint64_t *inout_decoded);
