#include "scheduler/job_export.h"

#include <string.h>

#include "base/allocator.h"
#include "scheduler/container_answer.h"
#include "scheduler/job_parcel_internal.h"
#include "scheduler/stored_arrays.h"

/* Where a file's chunks go. */
typedef struct Export {
    WorkerPool *pool;
    ChunkSink sink;
} Export;

/* ---- inputs that are not used yet ---- */

static bool is_shared(const JobPolicy *policy, const char *name) {
    for (uint32_t i = 0; i < policy->shared_count; i++)
        if (strcmp(policy->shared[i], name) == 0) return true;
    return false;
}

/* The items behind the first `used` ones; the data stays where it is. */
static Error *cut_front(NamedArray *view, int64_t used) {
    int64_t count = view->shape.rank > 0 ? view->shape.dims[0] : 0;
    if (used < 0 || used > count)
        FAIL(CORRUPT, "input %s has %lld items, %lld are used", view->name, (long long)count,
            (long long)used);
    if (used == 0) return NULL;
    uint64_t bytes = view->size / (uint64_t)count * (uint64_t)used;
    view->data += bytes;
    view->size -= bytes;
    view->shape.dims[0] -= used;
    return NULL;
}

static Error *write_rest(JobParcel *parcel, const ArrayList *arrays, const Export *export) {
    void *memory;
    TRY(memory_alloc(arrays->count, sizeof(NamedArray), &memory));
    ArrayList views = {memory, arrays->count, arrays->count};
    Error *error = NULL;
    for (size_t i = 0; i < arrays->count && !error; i++) {
        views.items[i] = arrays->items[i];
        if (parcel->policy.items && !is_shared(&parcel->policy, views.items[i].name))
            error = cut_front(
                &views.items[i], parcel->items_done - (int64_t)parcel->policy.items_before);
    }
    if (!error)
        error = array_bundle_write(&views, export->pool, export->sink, &parcel->made_inputs);
    memory_free(memory); /* the arrays are the list's */
    return error;
}

/* Of a job that has used none of them they stand in the store as they are. */
static bool cuts_inputs(const JobParcel *parcel) {
    return parcel->policy.items && parcel->items_done != (int64_t)parcel->policy.items_before;
}

static Error *write_inputs(JobParcel *parcel, const Export *export) {
    ArrayList OWN_ARRAYS(arrays) = {0};
    const ArrayBundle *made = &parcel->made_inputs;
    if (!job_parcel_has_used_inputs(parcel))
        TRY(stored_arrays_read(parcel->store, export->pool, parcel->row.tenant, parcel->row.id,
            JOB_CONTENT_INPUTS, 0, STORED_ARRAYS_INPUTS_MAX, &arrays));
    TRY(write_rest(parcel, &arrays, export));
    parcel->inputs =
        (JobFileArrays){made->bytes.data, made->bytes.size, made->chunks, made->chunk_count};
    return NULL;
}

/* ---- the file ---- */

static Error *copy_chunks(JobParcel *parcel, const Export *export) {
    ChunkSource source = job_parcel_source(parcel);
    size_t count, model_count;
    const ChunkRef *chunks = job_parcel_chunks(parcel, &count);
    const ChunkRef *model = job_parcel_model_chunks(parcel, &model_count);
    TRY(chunk_copy(chunks, count, export->pool, CHUNK_VERIFY_XXH3, source, export->sink));
    return chunk_copy(model, model_count, export->pool, CHUNK_VERIFY_XXH3, source, export->sink);
}

static Error *write_all(
    Store *store, const JobExport *wanted, const Export *export, ContainerFile *file) {
    OWN(JobParcel, parcel) = NULL;
    size_t size;
    TRY(job_parcel_begin(store, wanted, &parcel));
    TRY(write_inputs(parcel, export));
    TRY(job_parcel_finish(parcel, wanted->owns ? JOB_FILE_RELEASE : JOB_FILE_COPY));
    TRY(copy_chunks(parcel, export));
    const uint8_t *manifest = job_parcel_manifest(parcel, &size);
    return container_file_finish(file, manifest, size);
}

Error *job_export_write(Store *store, WorkerPool *pool, const JobExport *wanted, const char *path) {
    OWN(FileOutput, output) = NULL;
    OWN(ContainerFile, file) = NULL;
    TRY(file_output_create(path, &output));
    TRY(container_file_create(output, NULL, &file));
    const Export export = {pool, container_file_get_sink(file)};
    TRY(write_all(store, wanted, &export, file));
    return file_output_commit(output);
}

/* ---- the same, while it is read ---- */

static void close_parcel(void *parcel) { job_parcel_close(parcel); }

static Error *plan(JobParcel *parcel, WorkerPool *pool, ContainerAnswer *answer, bool *out_fits) {
    const Export export = {pool, container_answer_sink(answer)};
    const bool cuts = cuts_inputs(parcel);
    size_t count;
    *out_fits = job_parcel_bytes(parcel) <= JOB_EXPORT_MEMORY_MAX &&
                (!cuts || parcel->row.bytes_stored <= JOB_EXPORT_MEMORY_MAX);
    if (!*out_fits) return NULL;
    TRY(cuts ? write_inputs(parcel, &export) : job_parcel_open_inputs(parcel));
    TRY(job_parcel_finish(parcel, parcel->wanted.owns ? JOB_FILE_RELEASE : JOB_FILE_COPY));
    const ChunkRef *chunks = job_parcel_chunks(parcel, &count);
    TRY(container_answer_add(answer, chunks, count));
    chunks = job_parcel_model_chunks(parcel, &count);
    return container_answer_add(answer, chunks, count);
}

Error *job_export_open(
    Store *store, WorkerPool *pool, const JobExport *wanted, HttpStream *out_stream) {
    OWN(JobParcel, parcel) = NULL;
    OWN(ContainerAnswer, answer) = NULL;
    bool fits;
    size_t size;
    *out_stream = (HttpStream){.pull = NULL};
    TRY(job_parcel_begin(store, wanted, &parcel));
    TRY(container_answer_create(store, wanted->tenant, &answer));
    TRY(plan(parcel, pool, answer, &fits));
    if (!fits) return NULL;
    const uint8_t *manifest = job_parcel_manifest(parcel, &size);
    const uint64_t bytes = job_parcel_bytes(parcel);
    JobParcel *keeper = TAKE(parcel);
    return container_answer_finish(
        TAKE(answer), manifest, size, keeper, close_parcel, bytes, out_stream);
}
