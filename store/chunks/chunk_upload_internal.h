#pragma once
/* The inside of an upload, for gc, chunk_drop.c and the functions that pin chunks (store/contents,
 * store/jobs, store/models). Threads: as chunk_upload.h. */
#include <pthread.h>

#include "store/chunks/chunk_upload.h"
#include "store/chunks/chunk_pins.h"
#include "store/accounts/in_flight.h"

/* A chunk in memory that the store does not have yet. */
typedef struct PendingChunk {
    ChunkRef ref;
    size_t offset; /* in the batch's bytes */
    size_t stored_size;
    bool is_new; /* set after the insert: false when another upload had inserted the chunk before */
} PendingChunk;

/* The chunks that one transaction writes. */
typedef struct ChunkBatch {
    PendingChunk *chunks;
    size_t count, capacity;
    ByteWriter bytes;
} ChunkBatch;

struct ChunkUpload {
    Store *store;
    TenantId tenant;
    ChunkPins pins;
    ChunkBatch pending; /* the batch that is being filled */
    ChunkBatch writing; /* the batch that the writer thread owns while it runs */
    pthread_t writer;
    bool writer_runs;
    Error *write_error;   /* the writer's result, once it has ended */
    uint64_t last_commit; /* of the chunks' database: the last one with a chunk found or written */
    bool failed;          /* a put or flush failed: chunks may be missing */
    bool wrote;           /* the upload wrote something through the chunks' writer */
    bool listed;          /* the upload's pins are among the store's */
    bool limited;         /* chunk_upload_limit was called; false: the next three are unused */
    bool kept;            /* the catalog refers to the uploaded chunks */
    InFlight charge;
    ByteWriter brought; /* the hashes of chunks that the store did not have before */
};

/* Reads the stored size of a chunk that the upload has pinned, or pins a chunk that the store has.
 * Errors: CORRUPT the store does not have the chunk, or has another raw size. */
MUST_CHECK Error *chunk_upload_pin(
    ChunkUpload *upload, const ChunkRef *ref, uint32_t *out_stored_size);
