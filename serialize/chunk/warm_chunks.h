#pragma once
/* Chunks whose raw bytes are in memory already, by name: they are copied from there instead of
 * being fetched and decoded. Whoever adds them keeps their bytes as they are. */
#include "serialize/chunk/chunk.h"

typedef struct WarmChunk {
    ChunkRef ref;
    const void *bytes; /* borrowed */
} WarmChunk;

typedef struct WarmChunks {
    WarmChunk *items;
    size_t count, capacity;
    bool is_sorted;
} WarmChunks;

void warm_chunks_deinit(WarmChunks *chunks);
/* Chunks that follow each other in memory. */
MUST_CHECK Error *warm_chunks_add(
    WarmChunks *chunks, const ChunkRef *refs, size_t count, const void *bytes);

/* chunk_read_data, with what there is copied. inout_copied, inout_decoded: raw bytes, added. The
 * runs' memory is none of the chunks'. */
MUST_CHECK Error *warm_chunks_read(WarmChunks *chunks, WorkerPool *pool, const ChunkRun *runs,
    size_t run_count, ChunkVerify verify, ChunkSource source, uint64_t *inout_copied,
    uint64_t *inout_decoded);
