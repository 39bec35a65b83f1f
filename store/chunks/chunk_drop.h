#pragma once
/* Deletes chunks that no upload holds and no row refers to: the chunks of an upload that was not
 * kept, and the chunks that a sweep finds. Callers: chunk_upload.c and gc.c. Both hold the store's
 * lock `sweeping` during the call, so that no upload finds a chunk that is about to be deleted.
 * Threads: any. */
#include "store/database/query.h"
#include "store/database/store.h"

typedef struct SweptChunk {
    TenantId tenant;
    Digest hash;
    int64_t id; /* the chunk's row */
} SweptChunk;

typedef struct ChunkDropResult {
    uint64_t chunks; /* deleted */
    uint64_t bytes;  /* bytes of the deleted chunks as stored */
} ChunkDropResult;

/* Deletes the unneeded ones of these rows. Runs under store->sweeping, in the caller's transaction
 * of the chunks' database. inout_result: the call adds the deleted chunks. */
MUST_CHECK Error *chunk_drop_unneeded(Store *store, Connection *catalog, Connection *chunks,
    const SweptChunk *swept, size_t count, ChunkDropResult *inout_result);

/* Deletes the unneeded ones of a tenant's chunks, a few per transaction. Takes the locks itself. */
MUST_CHECK Error *chunk_drop(Store *store, TenantId tenant, const Digest *hashes, size_t count);
