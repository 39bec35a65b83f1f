#pragma once
/* Arrays as bytes and chunks: the stored form of a job's inputs and of each of its outputs. Small
 * arrays are in the bytes, the data of large ones in chunks. Callers: scheduler/control,
 * scheduler/jobs, scheduler/node, scheduler/service and tools/client. Threads: any.
 *
 * Stored as: docs/job-files.md#array-bundle */
#include "base/worker_pool.h"
#include "serialize/arrays/array_list.h"
#include "serialize/chunk/chunk.h"

enum {
    ARRAY_BUNDLE_INLINE_SIZE = 32 << 10, /* arrays up to this size are in the bytes */
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

/* The source of large arrays that are not in memory. open: returns the chunks of array `index`, or
 * get NULL when its data are in memory. close: called after each open that returned chunks, when
 * all of them were read; close may still refuse the array. */
typedef struct ArrayStreams {
    Error *(*open)(void *self, size_t index, RawChunks *out_chunks);
    Error *(*close)(void *self, size_t index);
    void *self;
} ArrayStreams;

/* Writes arrays as a bundle. Equal arrays give equal bundles. Chunks that the sink lacks are put
 * there.
 *
 * out_bundle: empty before.
 * Errors: whatever the sink returns.
 * Blocks: encodes on the pool's threads. */
MUST_CHECK Error *array_bundle_write(
    const ArrayList *arrays, WorkerPool *pool, ChunkSink sink, ArrayBundle *out_bundle);
/* Writes a bundle whose arrays above ARRAY_BUNDLE_INLINE_SIZE may come from streams. */
MUST_CHECK Error *array_bundle_write_streams(const ArrayList *arrays, ArrayStreams streams,
    WorkerPool *pool, ChunkSink sink, ArrayBundle *out_bundle);

/* Reads a bundle. bytes_max: of all arrays together. out_arrays: empty before.
 * Errors: CORRUPT; EXHAUSTED more than bytes_max; whatever the source returns. */
MUST_CHECK Error *array_bundle_read(const void *bytes, size_t size, const ChunkRef *chunks,
    size_t chunk_count, WorkerPool *pool, ChunkVerify verify, ChunkSource source,
    uint64_t bytes_max, ArrayList *out_arrays);
/* Reads a bundle without its chunks: checks everything but the elements, and fills the arrays with
 * zeros. */
MUST_CHECK Error *array_bundle_read_form(const void *bytes, size_t size, const ChunkRef *chunks,
    size_t chunk_count, uint64_t bytes_max, ArrayList *out_arrays);
