#include <string.h>

#include "base/allocator.h"
#include "scheduler/executor/job_run_internal.h"
#include "serialize/checkpoint.h"
#include "serialize/value_bytes.h"

enum { VERSION = 1, OUTPUTS_MAX = 1 << 16, OUTPUT_BYTES_MIN = 6, OUTPUT_NAME_MAX = 1200 };
static const uint8_t magic[4] = {'L', 'V', 'J', 'C'};

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
    };
    if (run->is_out) FAIL(INTERNAL, "a snapshot of an execution that is not on its device");
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

static void write_outputs(const BatchOutputs *outputs, ByteWriter *writer) {
    byte_write_u8(writer, outputs->known);
    byte_write_u32(writer, (uint32_t)outputs->count);
    for (size_t i = 0; i < outputs->count; i++) {
        byte_write_text(writer, outputs->items[i].name);
        byte_write_u8(writer, (uint8_t)outputs->items[i].dtype);
        value_bytes_write_shape(writer, &outputs->items[i].shape);
    }
}

/* The execution's manifest, and the chunks that it refers to. */
static Error *write_execution(const Snapshot *execution, WorkerPool *pool, ChunkSink sink,
    ByteWriter *writer, ChunkRef **out_chunks, size_t *out_count) {
    OWN(Container, container) = NULL;
    ByteWriter OWN_BYTES(manifest) = {0};
    ByteWriter OWN_BYTES(packed) = {0};
    Digest identity;
    TRY(checkpoint_write(execution, pool, sink, &manifest, &identity));
    TRY(container_pack_manifest(manifest.data, manifest.size, &packed));
    byte_write_u32(writer, (uint32_t)packed.size);
    byte_write_bytes(writer, packed.data, packed.size);
    TRY(container_open_manifest(
        CONTAINER_CHECKPOINT, manifest.data, manifest.size, (ChunkSource){0}, &container));
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
    ChunkRef *chunks = NULL;
    size_t count = 0;
    byte_write_bytes(&bytes, magic, sizeof magic);
    byte_write_u32(&bytes, VERSION);
    byte_write_u64(&bytes, snapshot->next_run);
    byte_write_i64(&bytes, snapshot->sequence);
    write_outputs(&snapshot->outputs, &bytes);
    byte_write_u8(&bytes, snapshot->execution != NULL);
    if (snapshot->execution)
        TRY(write_execution(snapshot->execution, pool, sink, &bytes, &chunks, &count));
    Error *error = byte_writer_check(&bytes);
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

static Error *read_output(ByteReader *reader, NamedArray *out) {
    TRY(byte_read_text(reader, OUTPUT_NAME_MAX, &out->name));
    TRY(value_bytes_read_dtype(reader, false, &out->dtype));
    return value_bytes_read_shape(reader, 0, &out->shape);
}

static Error *read_outputs(ByteReader *reader, BatchOutputs *out) {
    uint32_t count;
    void *memory;
    TRY(value_bytes_read_bool(reader, &out->known));
    TRY(byte_read_count(reader, OUTPUT_BYTES_MIN, &count));
    if (count > OUTPUTS_MAX || (!out->known && count > 0)) FAIL(CORRUPT, "%u outputs", count);
    TRY(memory_alloc(count, sizeof(NamedArray), &memory));
    out->items = memory;
    while (out->count < count)
        TRY_WRAP(read_output(reader, &out->items[out->count++]), "output %zu", out->count);
    return NULL;
}

static Error *read_execution(ByteReader *reader, const JobRun *run, WorkerPool *pool,
    ChunkVerify verify, ChunkSource source, Residency *residency, Execution **out) {
    OWN(Container, container) = NULL;
    uint32_t size;
    const uint8_t *manifest;
    TRY(byte_read_count(reader, 1, &size));
    TRY(byte_read_view(reader, size, &manifest));
    TRY(container_open_manifest(CONTAINER_CHECKPOINT, manifest, size, source, &container));
    OWN(Execution, execution) = NULL;
    TRY(checkpoint_read(container, pool, verify, residency, &run->options, &execution));
    if (execution_get_entry(execution) != run->function)
        FAIL(CORRUPT, "an execution of another function");
    *out = TAKE(execution);
    return NULL;
}

/* What stands in front of the execution. */
static Error *read_progress(ByteReader *reader, const JobRun *run, JobSnapshot *out) {
    const uint8_t *head;
    uint32_t version;
    TRY(byte_read_view(reader, sizeof magic, &head));
    if (memcmp(head, magic, sizeof magic) != 0) FAIL(CORRUPT, "no job's checkpoint");
    TRY(byte_read_u32(reader, &version));
    if (version != VERSION)
        FAIL(UNSUPPORTED, "a job's checkpoint of version %u; this program reads version %d",
            version, VERSION);
    TRY(byte_read_u64(reader, &out->next_run));
    TRY(byte_read_i64(reader, &out->sequence));
    TRY(read_outputs(reader, &out->outputs));
    if (out->next_run > batch_run_count(run->batch) || out->sequence < 0)
        FAIL(CORRUPT, "run %llu of %llu", (unsigned long long)out->next_run,
            (unsigned long long)batch_run_count(run->batch));
    return NULL;
}

static Error *restore(JobRun *run, ByteReader *reader, JobSnapshot *progress, WorkerPool *pool,
    ChunkVerify verify, ChunkSource source, Residency *residency) {
    bool has_execution;
    OWN(Execution, execution) = NULL;
    TRY(read_progress(reader, run, progress));
    TRY(value_bytes_read_bool(reader, &has_execution));
    if (has_execution && progress->next_run == batch_run_count(run->batch))
        FAIL(CORRUPT, "an execution behind the last run");
    if (has_execution)
        TRY(read_execution(reader, run, pool, verify, source, residency, &execution));
    TRY(byte_reader_check_end(reader));
    run->next_run = progress->next_run;
    run->sequence = progress->sequence;
    run->outputs = progress->outputs;
    progress->outputs = (BatchOutputs){0};
    if (execution)
        memory_pool_set_grant(execution_get_pool(execution, SLOT_DEVICE), run->grant_bytes);
    run->execution = TAKE(execution);
    return NULL;
}

Error *job_run_restore(JobRun *run, const void *bytes, size_t size, WorkerPool *pool,
    ChunkVerify verify, ChunkSource source, Residency *residency) {
    JobSnapshot OWN_SNAPSHOT(progress) = {0};
    ByteReader reader = byte_reader(bytes, size);
    if (run->execution || run->is_out || run->next_run > 0)
        FAIL(INTERNAL, "a checkpoint for a job that has begun");
    return error_wrap(
        restore(run, &reader, &progress, pool, verify, source, residency), "job checkpoint");
}
