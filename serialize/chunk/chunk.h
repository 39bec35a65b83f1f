#pragma once
/* Chunks: bulk bytes cut into pieces, each named by the SHA-256 of its raw bytes and stored
 * compressed.
 *
 * A stored chunk describes itself (docs/formats.md#chunk): codec, raw size, XXH3 of what follows.
 * Whoever keeps chunks (a file, the store, a peer) sees only a ChunkRef and stored bytes. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/worker_pool.h"
#include "serialize/chunk/chunk_format.h"

/* How many chunks a caller of find asks for at a time: what it costs to begin asking is little
 * among so many. */
enum { CHUNKS_FOUND_AT_ONCE = 256 };

/* Where stored chunks go: which of some it has, and one more. find and put are called from one
 * thread at a time. */
typedef struct ChunkSink {
    Error *(*find)(void *self, const ChunkRef *refs, size_t count, bool *out_found);
    Error *(*put)(void *self, const ChunkRef *ref, const void *stored, size_t stored_size);
    void *self;
} ChunkSink;

/* A sink that has everything. */
ChunkSink chunk_sink_full(void);
/* How many chunks the sink has before the first that it has not. */
MUST_CHECK Error *chunk_sink_count_leading(
    ChunkSink sink, const ChunkRef *refs, size_t count, size_t *out_leading);

/* Where stored chunks come from. Threads: any, several at once. Replaces the content of
 * inout_stored. Errors: NOT_FOUND no such chunk; IO; CORRUPT. */
typedef struct ChunkSource {
    Error *(*get)(void *self, const ChunkRef *ref, ByteWriter *inout_stored);
    void *self;
} ChunkSource;

typedef enum ChunkVerify {
    CHUNK_VERIFY_XXH3,   /* the stored bytes are those that were written: local loads */
    CHUNK_VERIFY_SHA256, /* and the raw bytes have their name: import, migration, fsck */
} ChunkVerify;

/* How many chunks of chunk_size bytes hold size bytes. */
size_t chunk_count(uint64_t size, uint32_t chunk_size);
/* Bytes of the chunk at index < chunk_count(size, chunk_size): only the last may be shorter. */
uint32_t chunk_raw_size(uint64_t size, uint32_t chunk_size, size_t index);

/* One chunk, encoded (appended to stored) and decoded. Decoding never writes beyond ref->raw_size
 * bytes. */
MUST_CHECK Error *chunk_encode(
    const void *raw, uint32_t raw_size, ChunkFilter filter, ByteWriter *stored);
MUST_CHECK Error *chunk_decode(
    const void *stored, size_t stored_size, const ChunkRef *ref, ChunkVerify verify, void *out_raw);

/* Refs of the first chunks of some data, which have not changed since they were hashed. */
typedef struct KnownChunks {
    const ChunkRef *refs;
    size_t count;
} KnownChunks;

/* Splits, hashes, encodes (on the pool's threads; NULL: here) and puts what the sink lacks, in
 * order. known: not hashed again. out_refs: chunk_count(size, chunk_size) entries. */
MUST_CHECK Error *chunk_write_data(WorkerPool *pool, const void *data, uint64_t size,
    uint32_t chunk_size, ChunkFilter filter, KnownChunks known, ChunkSink sink, ChunkRef *out_refs);

/* Raw bytes that come chunk by chunk. get: borrowed until done. Threads: any, several at once; the
 * lowest chunk that is not done with is always got before others are waited for. */
typedef struct RawChunks {
    Error *(*get)(void *self, size_t index, const void **out_data);
    void (*done)(void *self, size_t index);
    void *self;
} RawChunks;
/* The same of them; size: all of it. */
MUST_CHECK Error *chunk_write_read(WorkerPool *pool, RawChunks reader, uint64_t size,
    uint32_t chunk_size, ChunkFilter filter, ChunkSink sink, ChunkRef *out_refs);

/* Chunks that follow each other in memory; out_data has room for the sum of their raw sizes. */
typedef struct ChunkRun {
    const ChunkRef *refs;
    size_t count;
    void *out_data;
} ChunkRun;

/* Fetches, checks and decodes the chunks of all runs, on the pool's threads (NULL: here). One call
 * for many runs keeps every thread busy where single runs are of one chunk or two. */
MUST_CHECK Error *chunk_read_data(WorkerPool *pool, const ChunkRun *runs, size_t run_count,
    ChunkVerify verify, ChunkSource source);

/* Copies the chunks that the sink lacks, as they are stored; each is decoded and checked before.
 *
 * verify: SHA256 when they come from outside. Errors: as chunk_read_data; whatever the sink
 * returns. */
MUST_CHECK Error *chunk_copy(const ChunkRef *refs, size_t count, WorkerPool *pool,
    ChunkVerify verify, ChunkSource source, ChunkSink sink);
/* The same check, and nothing is copied. The source serves several threads at once. */
MUST_CHECK Error *chunk_verify(
    const ChunkRef *refs, size_t count, WorkerPool *pool, ChunkVerify verify, ChunkSource source);
