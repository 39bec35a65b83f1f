#pragma once
/* Arrays as bytes and chunks: what a job's inputs and each of its outputs are stored as. Small
 * arrays stand in the bytes, the data of large ones in chunks.
 *
 * Stored as: docs/job-files.md#array-bundle */
#include "base/worker_pool.h"
#include "serialize/arrays/array_list.h"
#include "serialize/chunk/chunk.h"

enum {
    ARRAY_BUNDLE_INLINE_SIZE = 32 << 10, /* arrays up to this size stand in the bytes */
    ARRAY_BUNDLE_ARRAYS_MAX = 1 << 16,
    ARRAY_BUNDLE_NAME_MAX = 1200,
    ARRAY_BUNDLE_TEXT_MAX = 1 << 24, /* bytes of one string */
};

typedef struct ArrayBundle {
    ByteWriter bytes;
    ChunkRef *chunks; /* in the arrays' order */
    size_t chunk_count;
} ArrayBundle;

void array_bundle_deinit(ArrayBundle *bundle);
#define OWN_BUNDLE(name) __attribute__((cleanup(array_bundle_deinit))) name

/* Where the data of large arrays come from that are not in memory. open: chunks of array `index`,
 * or get NULL: its data are in memory. close: after each open that gave chunks, all of which were
 * got; it may still refuse them. */
typedef struct ArrayStreams {
    Error *(*open)(void *self, size_t index, RawChunks *out_chunks);
    Error *(*close)(void *self, size_t index);
    void *self;
} ArrayStreams;

/* Equal arrays give equal bundles. Chunks that the sink lacks are put there.
 *
 * out_bundle: empty before. Errors: whatever the sink returns. Blocks: encodes on the pool's
 * threads. */
MUST_CHECK Error *array_bundle_write(
    const ArrayList *arrays, WorkerPool *pool, ChunkSink sink, ArrayBundle *out_bundle);
/* The same where streams have data of arrays of more than ARRAY_BUNDLE_INLINE_SIZE. */
MUST_CHECK Error *array_bundle_write_streams(const ArrayList *arrays, ArrayStreams streams,
    WorkerPool *pool, ChunkSink sink, ArrayBundle *out_bundle);

/* bytes_max: of all arrays together. out_arrays: empty before.
 * Errors: CORRUPT; EXHAUSTED more than bytes_max; whatever the source returns. */
MUST_CHECK Error *array_bundle_read(const void *bytes, size_t size, const ChunkRef *chunks,
    size_t chunk_count, WorkerPool *pool, ChunkVerify verify, ChunkSource source,
    uint64_t bytes_max, ArrayList *out_arrays);
/* The same without a chunk: everything is checked but what they hold, and their arrays are zeros.
 */
MUST_CHECK Error *array_bundle_read_form(const void *bytes, size_t size, const ChunkRef *chunks,
    size_t chunk_count, uint64_t bytes_max, ArrayList *out_arrays);
