#include "scheduler/jobs/job_export.h"

#include "base/allocator.h"
#include "scheduler/jobs/container_answer.h"
#include "scheduler/jobs/job_manifest_internal.h"
#include "scheduler/jobs/unused_inputs.h"

/* The state of a file while it is made. */
typedef struct Export {
    JobManifest *job_manifest;
    UnusedInputs *inputs; /* NULL: the file has the inputs as the store has them, or none */
} Export;

static void export_close(Export *export) {
    if (!export) return;
    unused_inputs_close(export->inputs);
    job_manifest_close(export->job_manifest);
    memory_free(export);
}
DEFINE_OWN(Export, export_close);

/* Whether inputs are cut: a job that has used none of its inputs has them unchanged in the
 * store. */
static bool cuts_inputs(const JobManifest *job_manifest) {
    return job_manifest->policy.items &&
           job_manifest->items_done != (int64_t)job_manifest->policy.items_before;
}

static Error *export_open(Store *store, const JobExportRequest *wanted, Export **out_export) {
    OWN(Export, export) = NULL;
    TRY(memory_alloc(1, sizeof *export, (void **)&export));
    TRY(job_manifest_begin(store, wanted, &export->job_manifest));
    JobManifest *job_manifest = export->job_manifest;
    if (cuts_inputs(job_manifest)) {
        const int64_t used = job_manifest->items_done - (int64_t)job_manifest->policy.items_before;
        TRY(unused_inputs_open(
            store, &job_manifest->row, &job_manifest->policy, used, &export->inputs));
    } else
        TRY(job_manifest_open_inputs(job_manifest));
    *out_export = TAKE(export);
    return NULL;
}

/* Writes the inputs that are cut, and then the manifest. */
static Error *finish(Export *export, WorkerPool *pool, ChunkSink sink) {
    JobManifest *job_manifest = export->job_manifest;
    const ArrayBundle *made = &job_manifest->made_inputs;
    if (export->inputs) {
        TRY(unused_inputs_write(export->inputs, pool, sink, &job_manifest->made_inputs));
        job_manifest->inputs =
            (JobFileArrays){made->bytes.data, made->bytes.size, made->chunks, made->chunk_count};
    }
    return job_manifest_finish(
        job_manifest, job_manifest->wanted.owns ? JOB_FILE_RELEASE : JOB_FILE_COPY);
}

/* ---- a file on the disk ---- */

static Error *copy_chunks(JobManifest *job_manifest, WorkerPool *pool, ChunkSink sink) {
    ChunkSource source = job_manifest_source(job_manifest);
    size_t count, model_count;
    const ChunkRef *chunks = job_manifest_chunks(job_manifest, &count);
    const ChunkRef *model = job_manifest_model_chunks(job_manifest, &model_count);
    TRY(chunk_copy(chunks, count, pool, CHUNK_VERIFY_XXH3, source, sink));
    return chunk_copy(model, model_count, pool, CHUNK_VERIFY_XXH3, source, sink);
}

Error *job_export_write(
    Store *store, WorkerPool *pool, const JobExportRequest *wanted, const char *path) {
    OWN(FileOutput, output) = NULL;
    OWN(ContainerFile, file) = NULL;
    OWN(Export, export) = NULL;
    size_t size;
    TRY(file_output_create(path, &output));
    TRY(container_file_create(output, NULL, &file));
    TRY(export_open(store, wanted, &export));
    const ChunkSink sink = container_file_get_sink(file);
    TRY(finish(export, pool, sink));
    TRY(copy_chunks(export->job_manifest, pool, sink));
    const uint8_t *manifest = job_manifest_bytes(export->job_manifest, &size);
    TRY(container_file_finish(file, manifest, size));
    return file_output_commit(output);
}

/* ---- the same, while it is read ---- */

static void close_export(void *export) { export_close(export); }

static uint64_t export_bytes(const Export *export) {
    return job_manifest_chunk_bytes(export->job_manifest) +
           (export->inputs ? unused_inputs_bytes(export->inputs) : 0);
}

static Error *plan(Export *export, WorkerPool *pool, ContainerAnswer *answer) {
    const JobManifest *job_manifest = export->job_manifest;
    ChunkSource made = {0};
    size_t count;
    if (export->inputs) made = unused_inputs_source(export->inputs, &job_manifest->made_inputs);
    TRY(finish(export, pool, container_answer_sink(answer, made)));
    const ChunkRef *chunks = job_manifest_chunks(job_manifest, &count);
    TRY(container_answer_add(answer, chunks, count));
    chunks = job_manifest_model_chunks(job_manifest, &count);
    return container_answer_add(answer, chunks, count);
}

Error *job_export_open(
    Store *store, WorkerPool *pool, const JobExportRequest *wanted, HttpStream *out_stream) {
    OWN(Export, export) = NULL;
    OWN(ContainerAnswer, answer) = NULL;
    size_t size;
    *out_stream = (HttpStream){.pull = NULL};
    TRY(export_open(store, wanted, &export));
    if (export_bytes(export) > JOB_EXPORT_MEMORY_MAX) return NULL;
    TRY(container_answer_create(store, wanted->tenant, &answer));
    TRY(plan(export, pool, answer));
    const uint8_t *manifest = job_manifest_bytes(export->job_manifest, &size);
    const uint64_t bytes = export_bytes(export);
    return container_answer_finish(
        TAKE(answer), manifest, size, TAKE(export), close_export, bytes, out_stream);
}
