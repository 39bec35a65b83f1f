#pragma once
/* What gc and registering see of an upload. */
#include <pthread.h>

#include "store/chunks/chunk_upload.h"
#include "store/chunks/chunk_pins.h"
#include "store/accounts/in_flight.h"

/* A chunk in memory that is not in the store yet. */
typedef struct PendingChunk {
    ChunkRef ref;
    size_t offset; /* in the batch's bytes */
    size_t stored_size;
    bool is_new; /* once it is inserted; not: somebody else was first */
} PendingChunk;

/* What one transaction writes. */
typedef struct ChunkBatch {
    PendingChunk *chunks;
    size_t count, capacity;
    ByteWriter bytes;
} ChunkBatch;

struct ChunkUpload {
    Store *store;
    TenantId tenant;
    ChunkPins pins;
    ChunkBatch pending; /* being filled */
    ChunkBatch writing; /* the writer's while it runs */
    pthread_t writer;
    bool writer_runs;
    Error *write_error;   /* its answer, once it has ended */
    uint64_t last_commit; /* of the chunks: what it found or wrote is in there or before */
    bool failed;          /* a put or flush failed: what it holds may be incomplete */
    bool wrote;           /* something, through the chunks' writer */
    bool listed;          /* its pins are among the store's */
    bool limited;         /* chunk_upload_limit; else the next three mean nothing */
    bool kept;            /* the catalog refers to what it put */
    InFlight charge;
    ByteWriter brought; /* the hashes of chunks that were not there before */
};

/* The stored size of a chunk that the upload has pinned, or pins now because the store has it.
 * Errors: CORRUPT the store does not have it, or its raw size is another. */
MUST_CHECK Error *chunk_upload_pin(
    ChunkUpload *upload, const ChunkRef *ref, uint32_t *out_stored_size);
