#pragma once
/* What gc and registering see of an upload. */
#include "store/chunk_upload.h"
#include "store/digest_set.h"

/* A chunk in memory that is not in the store yet. */
typedef struct PendingChunk {
    ChunkRef ref;
    size_t offset; /* in pending_bytes */
    size_t stored_size;
} PendingChunk;

struct ChunkUpload {
    Store *store;
    TenantId tenant;
    DigestSet pins; /* found or put → chunk_upload_sizes; guarded by the chunks' writer */
    PendingChunk *pending;
    size_t pending_count, pending_capacity;
    ByteWriter pending_bytes;
    bool failed;              /* a put or flush failed: what it holds may be incomplete */
    bool listed;              /* among the store's uploads */
    struct ChunkUpload *next; /* in store->uploads, guarded by the chunks' writer */
};

/* The stored size of a chunk that the upload has pinned, or pins now because the store has it.
 * Errors: CORRUPT the store does not have it, or its raw size is another. */
MUST_CHECK Error *chunk_upload_pin(
    ChunkUpload *upload, const ChunkRef *ref, uint32_t *out_stored_size);
