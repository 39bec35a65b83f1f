#include "scheduler/job_export.h"

#include <math.h>
#include <string.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "scheduler/executor/job_point.h"
#include "scheduler/job_policy.h"
#include "scheduler/model_loader.h"
#include "scheduler/stored_arrays.h"
#include "serialize/array_bundle.h"
#include "serialize/job_file.h"
#include "store/job_checkpoints.h"
#include "store/stored_content.h"

/* A running job may store a newer checkpoint and drop this one between two steps. */
enum { TRIES_MAX = 16 };

/* What stands behind one file until it is written. */
typedef struct Export {
    const JobExport *wanted;
    Store *store;
    WorkerPool *pool;
    ChunkSink sink;
    Job row;
    JobPolicy policy;
    StoredContent *checkpoint; /* NULL: it has not begun */
    int64_t items_done;
    JobPoint point;
    Container *execution; /* NULL: between two runs */
    ByteWriter policy_bytes, point_bytes;
    ArrayBundle inputs;
    JobFileArrays *outputs; /* copies */
    size_t output_count, output_capacity;
    StoredExecutable *stored;
    Container *model;
} Export;

static void export_deinit(Export *self) {
    for (size_t i = 0; i < self->output_count; i++) {
        memory_free((void *)(uintptr_t)self->outputs[i].bytes);
        memory_free((void *)(uintptr_t)self->outputs[i].chunks);
    }
    memory_free(self->outputs);
    container_release(self->model);
    stored_executable_close(self->stored);
    array_bundle_deinit(&self->inputs);
    byte_writer_deinit(&self->policy_bytes);
    byte_writer_deinit(&self->point_bytes);
    container_release(self->execution);
    job_point_deinit(&self->point);
    stored_content_close(self->checkpoint);
    job_policy_deinit(&self->policy);
}

static Error *read_row(Export *self) {
    ByteWriter OWN_BYTES(policy) = {0};
    const JobExport *wanted = self->wanted;
    TRY(jobs_get(self->store, wanted->tenant, wanted->job, &self->row));
    TRY(jobs_get_policy(self->store, wanted->tenant, wanted->job, &policy));
    return job_policy_read(policy.data, policy.size, &self->policy);
}

static Error *try_checkpoint(Export *self, JobCheckpoint *out) {
    const JobExport *wanted = self->wanted;
    TRY(job_checkpoints_get(self->store, wanted->tenant, wanted->job, wanted->checkpoint, out));
    return stored_content_open(self->store, wanted->tenant, wanted->job, JOB_CONTENT_CHECKPOINT,
        out->number, &self->checkpoint);
}

static Error *open_checkpoint(Export *self) {
    JobCheckpoint found = {0};
    Error *error = NULL;
    size_t size;
    if (self->wanted->checkpoint == 0 && isnan(self->row.checkpoint_created)) return NULL;
    for (int i = 0; i < TRIES_MAX; i++) {
        error_free(error); /* it was the newest no more: the next one is */
        error = try_checkpoint(self, &found);
        if (self->wanted->checkpoint > 0 || error_code(error) != ERROR_NOT_FOUND) break;
    }
    TRY(error);
    const uint8_t *bytes = stored_content_bytes(self->checkpoint, &size);
    TRY(job_point_read(bytes, size, &self->point));
    self->items_done = self->row.items_total < 0 ? 0 : found.items_done;
    if (!self->point.manifest) return NULL;
    return container_open_manifest(CONTAINER_CHECKPOINT, self->point.manifest,
        self->point.manifest_size, stored_content_source(self->checkpoint), &self->execution);
}

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

static Error *write_rest(Export *self, const ArrayList *arrays) {
    void *memory;
    TRY(memory_alloc(arrays->count, sizeof(NamedArray), &memory));
    ArrayList views = {memory, arrays->count, arrays->count};
    Error *error = NULL;
    for (size_t i = 0; i < arrays->count && !error; i++) {
        views.items[i] = arrays->items[i];
        if (self->policy.items && !is_shared(&self->policy, views.items[i].name))
            error =
                cut_front(&views.items[i], self->items_done - (int64_t)self->policy.items_before);
    }
    if (!error) error = array_bundle_write(&views, self->pool, self->sink, &self->inputs);
    memory_free(memory); /* the arrays are the list's */
    return error;
}

static Error *write_inputs(Export *self) {
    ArrayList OWN_ARRAYS(arrays) = {0};
    bool used = !self->policy.items && self->execution; /* they are in the execution's registers */
    if (!used)
        TRY(stored_arrays_read(self->store, self->pool, self->row.tenant, self->row.id,
            JOB_CONTENT_INPUTS, 0, STORED_ARRAYS_INPUTS_MAX, &arrays));
    return write_rest(self, &arrays);
}

/* ---- the rest of it ---- */

static Error *copy(const void *bytes, size_t size, const void **out) {
    void *memory;
    TRY(memory_alloc(size, 1, &memory));
    if (size > 0) memcpy(memory, bytes, size);
    *out = memory;
    return NULL;
}

static Error *add_output(Export *self, int64_t sequence) {
    OWN(StoredContent, content) = NULL;
    void *outputs = self->outputs;
    const void *chunks = NULL;
    size_t size, count;
    TRY(memory_grow(&outputs, self->output_count, &self->output_capacity, sizeof *self->outputs));
    self->outputs = outputs;
    TRY(stored_content_open(
        self->store, self->row.tenant, self->row.id, JOB_CONTENT_OUTPUT, sequence, &content));
    const uint8_t *bytes = stored_content_bytes(content, &size);
    const ChunkRef *refs = stored_content_chunks(content, &count);
    JobFileArrays *to = &self->outputs[self->output_count++];
    *to = (JobFileArrays){.size = size, .chunk_count = count};
    TRY(copy(bytes, size, &to->bytes));
    TRY(copy(refs, count * sizeof *refs, &chunks));
    to->chunks = chunks;
    return chunk_copy(
        refs, count, self->pool, CHUNK_VERIFY_XXH3, stored_content_source(content), self->sink);
}

static Error *add_outputs(Export *self) {
    for (int64_t i = 0; i < self->point.sequence; i++) TRY(add_output(self, i));
    return NULL;
}

static Error *add_model(Export *self) {
    TRY(model_loader_open(
        self->store, self->row.tenant, &self->row.executable, &self->stored, &self->model));
    return container_copy_chunks(self->model, self->pool, CHUNK_VERIFY_XXH3, self->sink);
}

/* What belongs to this home or this run of it stays here. */
static Error *write_scheduler_bytes(Export *self) {
    JobPolicy policy = self->policy;
    JobPoint point = self->point;
    policy.items_before = policy.suspend_at = policy.suspend_after_ns = 0;
    point.manifest = NULL; /* it stands in the file's own sections */
    job_policy_write(&policy, &self->policy_bytes);
    TRY(byte_writer_check(&self->policy_bytes));
    return job_point_write(&point, &self->point_bytes);
}

static Error *write_manifest(Export *self, ByteWriter *out_manifest) {
    const Job *row = &self->row;
    Digest identity;
    JobFile file = {.origin = {.node = row->id.node,
                        .number = row->id.number,
                        .epoch = row->epoch,
                        .owner = self->wanted->owns ? JOB_FILE_RELEASE : JOB_FILE_COPY},
        .model = row->model,
        .priority = (uint8_t)row->priority,
        .release = (uint8_t)row->release,
        .items_total = row->items_total,
        .items_done = self->items_done,
        .deadline_s = row->deadline - clock_real().calendar_s(clock_real().self),
        .policy = self->policy_bytes.data,
        .policy_size = self->policy_bytes.size,
        .point = self->point_bytes.data,
        .point_size = self->point_bytes.size,
        .inputs = {self->inputs.bytes.data, self->inputs.bytes.size, self->inputs.chunks,
            self->inputs.chunk_count},
        .outputs = self->outputs,
        .output_count = self->output_count,
        .executable_identity = row->executable};
    if (self->stored)
        file.executable = stored_executable_manifest(self->stored, &file.executable_size);
    return job_file_write(&file, self->execution, out_manifest, &identity);
}

static Error *write_all(Export *self, ContainerFile *file) {
    ByteWriter OWN_BYTES(manifest) = {0};
    TRY(read_row(self));
    TRY(open_checkpoint(self));
    TRY(write_inputs(self));
    TRY(add_outputs(self));
    if (self->wanted->with_model) TRY(add_model(self));
    if (self->execution)
        TRY(container_copy_chunks(self->execution, self->pool, CHUNK_VERIFY_XXH3, self->sink));
    TRY(write_scheduler_bytes(self));
    TRY(write_manifest(self, &manifest));
    return container_file_finish(file, manifest.data, manifest.size);
}

Error *job_export_write(Store *store, WorkerPool *pool, const JobExport *wanted, const char *path) {
    OWN(FileOutput, output) = NULL;
    OWN(ContainerFile, file) = NULL;
    TRY(file_output_create(path, &output));
    TRY(container_file_create(output, NULL, &file));
    Export self = {
        .wanted = wanted, .store = store, .pool = pool, .sink = container_file_get_sink(file)};
    Error *error = write_all(&self, file);
    export_deinit(&self);
    TRY(error);
    return file_output_commit(output);
}
