#pragma once
/* Deletes chunks that no upload holds and nobody refers to: those that an upload brought for
 * nothing, and all that a sweep finds (gc.h). Both hold the store's lock `sweeping` meanwhile, so
 * that nobody looks for a chunk that is about to go. */
#include "store/database/statement.h"
#include "store/database/store.h"

typedef struct SweptChunk {
    TenantId tenant;
    Digest hash;
    int64_t id; /* its row */
} SweptChunk;

typedef struct ChunkDropResult {
    uint64_t chunks; /* deleted */
    uint64_t bytes;  /* of these, as stored */
} ChunkDropResult;

/* Deletes those of the rows that are not needed, in the caller's transaction of the chunks'
 * database, under store->sweeping. inout_result: what was deleted is added. */
MUST_CHECK Error *chunk_drop_unneeded(Store *store, Connection *catalog, Connection *chunks,
    const SweptChunk *swept, size_t count, ChunkDropResult *inout_result);

/* Deletes those of a tenant's chunks that are not needed, a few at a time, each few in a
 * transaction of their own. */
MUST_CHECK Error *chunk_drop(Store *store, TenantId tenant, const Digest *hashes, size_t count);
