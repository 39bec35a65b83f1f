#include "base/allocator.h"
#include "serialize/chunk/chunk.h"

/* All threads fetch and check the chunks of a window; then one thread puts them in order. */
enum { WINDOW = 16 };

typedef struct CopyJob {
    ChunkSource source;
    ChunkVerify verify;
    const ChunkRef *refs[WINDOW];
    ByteWriter stored[WINDOW];
    size_t count;
} CopyJob;

static Error *get_checked(
    ChunkSource source, const ChunkRef *ref, ChunkVerify verify, ByteWriter *stored) {
    TRY(source.get(source.self, ref, stored));
    TRY(byte_writer_check(stored));
    void *raw = NULL;
    TRY(memory_alloc(ref->raw_size, 1, &raw));
    Error *error = chunk_decode(stored->data, stored->size, ref, verify, raw);
    memory_free(raw);
    return error;
}

static Error *fetch(void *context, size_t index) {
    CopyJob *job = context;
    return get_checked(job->source, job->refs[index], job->verify, &job->stored[index]);
}

static Error *copy_window(CopyJob *job, WorkerPool *pool, ChunkSink sink) {
    TRY(worker_pool_for_each(pool, job->count, fetch, job));
    for (size_t i = 0; i < job->count; i++) {
        bool found = false; /* the window may have the chunk twice */
        TRY(sink.find(sink.self, job->refs[i], 1, &found));
        if (!found)
            TRY(sink.put(sink.self, job->refs[i], job->stored[i].data, job->stored[i].size));
    }
    job->count = 0;
    return NULL;
}

static Error *copy_all(
    CopyJob *job, const ChunkRef *refs, size_t count, WorkerPool *pool, ChunkSink sink) {
    for (size_t i = 0; i < count; i++) {
        bool found = false;
        TRY(sink.find(sink.self, &refs[i], 1, &found));
        if (!found) job->refs[job->count++] = &refs[i];
        if (job->count == WINDOW) TRY(copy_window(job, pool, sink));
    }
    return copy_window(job, pool, sink);
}

Error *chunk_copy(const ChunkRef *refs, size_t count, WorkerPool *pool, ChunkVerify verify,
    ChunkSource source, ChunkSink sink) {
    CopyJob job = {.source = source, .verify = verify};
    Error *error = copy_all(&job, refs, count, pool, sink);
    for (size_t i = 0; i < WINDOW; i++) byte_writer_deinit(&job.stored[i]);
    return error;
}

/* ---- without a copy ---- */

typedef struct VerifyJob {
    const ChunkRef *refs;
    ChunkSource source;
    ChunkVerify verify;
} VerifyJob;

static Error *verify_one(void *context, size_t index) {
    const VerifyJob *job = context;
    ByteWriter OWN_BYTES(stored) = {0};
    return get_checked(job->source, &job->refs[index], job->verify, &stored);
}

Error *chunk_verify(
    const ChunkRef *refs, size_t count, WorkerPool *pool, ChunkVerify verify, ChunkSource source) {
    VerifyJob job = {refs, source, verify};
    return worker_pool_for_each(pool, count, verify_one, &job);
}
