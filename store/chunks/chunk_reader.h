#pragma once
/* Gets one tenant's chunks as they are stored: nothing is decoded or hashed here (chunk_decode).
 *
 * Open a reader for one load and close it: while it is open, the write-ahead log can't shrink. */
#include "serialize/chunk/chunk.h"
#include "store/database/store.h"

typedef struct ChunkReader ChunkReader;

MUST_CHECK Error *chunk_reader_open(Store *store, TenantId tenant, ChunkReader **out_reader);
/* Borrowed. Threads: any, several at once. */
ChunkSource chunk_reader_source(ChunkReader *reader);
/* How large a chunk is as stored, without reading it. Errors: NOT_FOUND. */
MUST_CHECK Error *chunk_reader_measure(
    ChunkReader *reader, const ChunkRef *ref, size_t *out_stored_size);
void chunk_reader_close(ChunkReader *reader);
DEFINE_OWN(ChunkReader, chunk_reader_close);
