#include <string.h>

#include "base/allocator.h"
#include "serialize/codec_context.h"
#include "serialize/container_internal.h"

/* Chunks are fetched and checked a window at a time by all threads, then put in order by one. */
enum { WINDOW = 16 };

typedef struct CopyJob {
    ChunkSource source;
    ChunkVerify verify;
    const ChunkRef *refs[WINDOW];
    ByteWriter stored[WINDOW];
    size_t count;
} CopyJob;

static Error *fetch(void *context, size_t index) {
    CopyJob *job = context;
    ByteWriter *stored = &job->stored[index];
    const ChunkRef *ref = job->refs[index];
    TRY(job->source.get(job->source.self, ref, stored));
    TRY(byte_writer_check(stored));
    void *raw = NULL;
    TRY(memory_alloc(ref->raw_size, 1, &raw));
    Error *error = chunk_decode(stored->data, stored->size, ref, job->verify, raw);
    memory_free(raw);
    return error;
}

static Error *copy_window(CopyJob *job, WorkerPool *pool, ChunkSink sink) {
    TRY(worker_pool_for_each(pool, job->count, fetch, job));
    for (size_t i = 0; i < job->count; i++) {
        bool found = false; /* it may stand in the window twice */
        TRY(sink.find(sink.self, job->refs[i], &found));
        if (!found)
            TRY(sink.put(sink.self, job->refs[i], job->stored[i].data, job->stored[i].size));
    }
    job->count = 0;
    return NULL;
}

static Error *copy_bulk(CopyJob *job, const ContainerBulk *bulk, WorkerPool *pool, ChunkSink sink) {
    for (size_t c = 0; c < bulk->chunk_count; c++) {
        bool found = false;
        TRY(sink.find(sink.self, &bulk->refs[c], &found));
        if (!found) job->refs[job->count++] = &bulk->refs[c];
        if (job->count == WINDOW) TRY(copy_window(job, pool, sink));
    }
    return NULL;
}

Error *container_copy_chunks(
    const Container *container, WorkerPool *pool, ChunkVerify verify, ChunkSink sink) {
    if (container->bulk_count > 0 && !container->source.get)
        FAIL(INTERNAL, "bulk data of a container without chunks");
    CopyJob job = {.source = container->source, .verify = verify};
    Error *error = NULL;
    for (uint32_t i = 0; i < container->bulk_count && !error; i++)
        error = error_wrap(copy_bulk(&job, &container->bulks[i], pool, sink), "bulk data %u", i);
    if (!error) error = copy_window(&job, pool, sink);
    for (size_t i = 0; i < WINDOW; i++) byte_writer_deinit(&job.stored[i]);
    return error;
}
