#pragma once
/* Chunks: bulk bytes cut into pieces, each named by the SHA-256 of its raw bytes and stored
 * compressed. Callers: serialize/, store/, scheduler/jobs, scheduler/migration. Threads: any,
 * unless a comment says otherwise.
 *
 * A stored chunk describes itself (docs/formats.md#chunk): codec, raw size, XXH3 of the following
 * bytes. A keeper of chunks (a file, the store, a peer) sees only a ChunkRef and stored bytes. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/worker_pool.h"
#include "serialize/chunk/chunk_format.h"

/* How many chunks a caller of find asks for at a time; among so many the fixed cost of a question
 * is small. */
enum { CHUNKS_FOUND_AT_ONCE = 256 };

/* The destination of stored chunks: find tells which chunks it has, put adds one. Both are called
 * by one thread at a time. */
typedef struct ChunkSink {
    Error *(*find)(void *self, const ChunkRef *refs, size_t count, bool *out_found);
    Error *(*put)(void *self, const ChunkRef *ref, const void *stored, size_t stored_size);
    void *self;
} ChunkSink;

/* Returns a sink that has every chunk. */
ChunkSink chunk_sink_full(void);
/* Counts the chunks before the first one that the sink lacks. */
MUST_CHECK Error *chunk_sink_count_leading(
    ChunkSink sink, const ChunkRef *refs, size_t count, size_t *out_leading);

/* The source of stored chunks. get replaces the content of inout_stored. Threads: any, several at
 * once. Errors: NOT_FOUND no such chunk; IO; CORRUPT. */
typedef struct ChunkSource {
    Error *(*get)(void *self, const ChunkRef *ref, ByteWriter *inout_stored);
    void *self;
} ChunkSource;

typedef enum ChunkVerify {
    CHUNK_VERIFY_XXH3, /* checks that the stored bytes are unchanged: local loads */
    /* also checks that the raw bytes match the name: import, migration, fsck */
    CHUNK_VERIFY_SHA256,
} ChunkVerify;

/* Returns how many chunks of chunk_size bytes hold size bytes. */
size_t chunk_count(uint64_t size, uint32_t chunk_size);
/* Returns the bytes of the chunk at index < chunk_count(size, chunk_size); only the last may be
 * shorter. */
uint32_t chunk_raw_size(uint64_t size, uint32_t chunk_size, size_t index);

/* Encodes one chunk (appended to stored), and decodes one. Decoding never writes beyond
 * ref->raw_size bytes. */
MUST_CHECK Error *chunk_encode(
    const void *raw, uint32_t raw_size, ChunkFilter filter, ByteWriter *stored);
MUST_CHECK Error *chunk_decode(
    const void *stored, size_t stored_size, const ChunkRef *ref, ChunkVerify verify, void *out_raw);

/* References to the first chunks of some data that have not changed since they were hashed. */
typedef struct KnownChunks {
    const ChunkRef *refs;
    size_t count;
} KnownChunks;

/* Splits, hashes and encodes data on the pool's threads (NULL: here), and puts chunks that the sink
 * lacks, in order. known: not hashed again. out_refs: chunk_count(size, chunk_size) entries. */
MUST_CHECK Error *chunk_write_data(WorkerPool *pool, const void *data, uint64_t size,
    uint32_t chunk_size, ChunkFilter filter, KnownChunks known, ChunkSink sink, ChunkRef *out_refs);

/* Data that is cut into chunks. */
typedef struct RawRun {
    const void *data;
    uint64_t size;
    ChunkFilter filter;
} RawRun;
/* Writes several data like chunk_write_data, one behind the other. One call keeps every thread busy
 * even when each data has only one or two chunks. out_refs: of all the data's chunks, in order. */
MUST_CHECK Error *chunk_write_runs(WorkerPool *pool, const RawRun *runs, size_t run_count,
    uint32_t chunk_size, ChunkSink sink, ChunkRef *out_refs);

/* A reader of raw bytes chunk by chunk. The bytes of get stay valid until done. Threads: any,
 * several at once. The lowest chunk that is not done is always requested before a thread waits for
 * others. */
typedef struct RawChunks {
    Error *(*get)(void *self, size_t index, const void **out_data);
    void (*done)(void *self, size_t index);
    void *self;
} RawChunks;
/* Writes the chunks of a reader like chunk_write_data; size: of all its bytes. */
MUST_CHECK Error *chunk_write_read(WorkerPool *pool, RawChunks reader, uint64_t size,
    uint32_t chunk_size, ChunkFilter filter, ChunkSink sink, ChunkRef *out_refs);

/* Chunks that are adjacent in memory; out_data has room for the sum of their raw sizes. */
typedef struct ChunkRun {
    const ChunkRef *refs;
    size_t count;
    void *out_data;
} ChunkRun;

/* Fetches, checks and decodes the chunks of all runs on the pool's threads (NULL: here). One call
 * for many runs keeps every thread busy even when each run has only one or two chunks. */
MUST_CHECK Error *chunk_read_data(WorkerPool *pool, const ChunkRun *runs, size_t run_count,
    ChunkVerify verify, ChunkSource source);

/* Copies the chunks that the sink lacks in stored form; each is decoded and checked before.
 *
 * verify: SHA256 when the chunks come from outside.
 * Errors: as chunk_read_data; whatever the sink returns. */
MUST_CHECK Error *chunk_copy(const ChunkRef *refs, size_t count, WorkerPool *pool,
    ChunkVerify verify, ChunkSource source, ChunkSink sink);
/* Checks chunks like chunk_copy without copying them. The source serves several threads at once. */
MUST_CHECK Error *chunk_verify(
    const ChunkRef *refs, size_t count, WorkerPool *pool, ChunkVerify verify, ChunkSource source);
