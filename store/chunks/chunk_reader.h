#pragma once
/* Reads one tenant's chunks as they are stored, without decoding or hashing them (chunk_decode).
 * Callers: store/jobs, store/models, fsck, and scheduler/jobs and scheduler/migration, which pass
 * stored chunks on.
 *
 * Open a reader for one load and close it afterwards: an open reader keeps the write-ahead log from
 * shrinking. Threads: any; one at a time per reader, except for its source. */
#include "serialize/chunk/chunk.h"
#include "store/database/store.h"

typedef struct ChunkReader ChunkReader;

MUST_CHECK Error *chunk_reader_open(Store *store, TenantId tenant, ChunkReader **out_reader);
/* The source of the chunks. The reader owns it. Threads: any, several at once. */
ChunkSource chunk_reader_source(ChunkReader *reader);
/* Reads a chunk's stored size without reading the chunk. Errors: NOT_FOUND. */
MUST_CHECK Error *chunk_reader_measure(
    ChunkReader *reader, const ChunkRef *ref, size_t *out_stored_size);
void chunk_reader_close(ChunkReader *reader);
DEFINE_OWN(ChunkReader, chunk_reader_close);
