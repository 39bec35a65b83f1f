#include <string.h>

#include "base/allocator.h"
#include "scheduler/executor/job_point.h"
#include "scheduler/executor/job_run_internal.h"
#include "serialize/checkpoint/checkpoint.h"

static Error *copy_outputs(const BatchOutputs *outputs, BatchOutputs *out) {
    void *memory;
    TRY(memory_alloc(outputs->count, sizeof(NamedArray), &memory));
    out->items = memory;
    for (; out->count < outputs->count; out->count++) {
        const NamedArray *item = &outputs->items[out->count];
        char *name;
        TRY(memory_copy_text(item->name, &name));
        out->items[out->count] =
            (NamedArray){.name = name, .dtype = item->dtype, .shape = item->shape};
    }
    out->known = outputs->known;
    return NULL;
}

Error *job_run_take_snapshot(JobRun *run, JobSnapshot *out_snapshot) {
    JobSnapshot OWN_SNAPSHOT(snapshot) = {
        .next_run = run->next_run,
        .sequence = run->sequence,
        .items_done = job_run_items_done(run),
        .out = byte_reader(run->out.data, run->out.size),
    };
    TRY(copy_outputs(&run->outputs, &snapshot.outputs));
    if (run->execution) TRY(snapshot_take(run->execution, &snapshot.execution));
    *out_snapshot = snapshot;
    snapshot = (JobSnapshot){0};
    return NULL;
}

void job_snapshot_deinit(JobSnapshot *snapshot) {
    batch_outputs_deinit(&snapshot->outputs);
    snapshot_release(snapshot->execution);
    *snapshot = (JobSnapshot){0};
}

/* A container with the execution, its chunks in the sink. */
static Error *write_chunks(
    const JobSnapshot *snapshot, WorkerPool *pool, ChunkSink sink, Container **out_container) {
    OWN(Container, container) = NULL;
    ByteWriter OWN_BYTES(manifest) = {0};
    Digest identity;
    if (snapshot->execution) {
        TRY(checkpoint_write(snapshot->execution, pool, sink, &manifest, &identity));
        TRY(container_open_manifest(
            CONTAINER_CHECKPOINT, manifest.data, manifest.size, (ChunkSource){0}, &container));
    } else {
        TRY(container_open_memory(
            CONTAINER_CHECKPOINT, snapshot->out.data, snapshot->out.size, &container));
        TRY(container_copy_chunks(container, pool, CHUNK_VERIFY_XXH3, sink));
    }
    *out_container = TAKE(container);
    return NULL;
}

/* The execution's manifest, and the chunks that it refers to. */
static Error *write_execution(const JobSnapshot *snapshot, WorkerPool *pool, ChunkSink sink,
    ByteWriter *out_packed, ChunkRef **out_chunks, size_t *out_count) {
    OWN(Container, container) = NULL;
    TRY(write_chunks(snapshot, pool, sink, &container));
    ByteReader manifest = container_get_manifest(container);
    TRY(container_pack_manifest(manifest.data, manifest.size, out_packed));
    size_t count;
    const ChunkRef *refs = container_get_refs(container, &count);
    void *memory;
    TRY(memory_alloc(count, sizeof(ChunkRef), &memory));
    if (count > 0) memcpy(memory, refs, count * sizeof(ChunkRef));
    *out_chunks = memory;
    *out_count = count;
    return NULL;
}

Error *job_snapshot_write(const JobSnapshot *snapshot, WorkerPool *pool, ChunkSink sink,
    ByteWriter *out_bytes, ChunkRef **out_chunks, size_t *out_chunk_count) {
    ByteWriter OWN_BYTES(bytes) = {0};
    ByteWriter OWN_BYTES(packed) = {0};
    ChunkRef *chunks = NULL;
    size_t count = 0;
    if (snapshot->execution || snapshot->out.size > 0)
        TRY(write_execution(snapshot, pool, sink, &packed, &chunks, &count));
    const JobPoint point = {.next_run = snapshot->next_run,
        .sequence = snapshot->sequence,
        .outputs = snapshot->outputs,
        .manifest = packed.data,
        .manifest_size = packed.size};
    Error *error = job_point_write(&point, &bytes);
    if (error) {
        memory_free(chunks);
        return error;
    }
    *out_bytes = bytes;
    bytes = (ByteWriter){0};
    *out_chunks = chunks;
    *out_chunk_count = count;
    return NULL;
}

static Error *read_execution(const JobPoint *point, JobRun *run, WorkerPool *pool,
    ChunkVerify verify, ChunkSource source, Residency *residency, WarmStorages *warm,
    Execution **out) {
    OWN(Container, container) = NULL;
    OWN(Execution, execution) = NULL;
    TRY(container_open_manifest(
        CONTAINER_CHECKPOINT, point->manifest, point->manifest_size, source, &container));
    TRY(job_run_note_class(run, container, residency));
    TRY(checkpoint_read(container, pool, verify, residency, &run->options, warm, &execution));
    if (execution_get_entry(execution) != run->function)
        FAIL(CORRUPT, "an execution of another function");
    *out = TAKE(execution);
    return NULL;
}

static Error *restore(JobRun *run, JobPoint *point, WorkerPool *pool, ChunkVerify verify,
    ChunkSource source, Residency *residency, WarmStorages *warm) {
    OWN(Execution, execution) = NULL;
    uint64_t count = batch_run_count(run->batch);
    if (point->next_run > count)
        FAIL(CORRUPT, "run %llu of %llu", (unsigned long long)point->next_run,
            (unsigned long long)count);
    if (point->manifest && point->next_run == count)
        FAIL(CORRUPT, "an execution behind the last run");
    if (point->manifest)
        TRY(read_execution(point, run, pool, verify, source, residency, warm, &execution));
    run->next_run = point->next_run;
    run->sequence = point->sequence;
    run->outputs = point->outputs;
    point->outputs = (BatchOutputs){0};
    if (execution)
        memory_pool_set_grant(execution_get_pool(execution, SLOT_DEVICE), run->grant_bytes);
    run->execution = TAKE(execution);
    return NULL;
}

Error *job_run_restore(JobRun *run, const void *bytes, size_t size, WorkerPool *pool,
    ChunkVerify verify, ChunkSource source, Residency *residency, WarmStorages *warm) {
    JobPoint OWN_POINT(point) = {0};
    if (run->execution || run->is_out || run->next_run > 0)
        FAIL(INTERNAL, "a checkpoint for a job that has begun");
    Error *error = job_point_read(bytes, size, &point);
    if (!error) error = restore(run, &point, pool, verify, source, residency, warm);
    return error_wrap(error, "job checkpoint");
}
