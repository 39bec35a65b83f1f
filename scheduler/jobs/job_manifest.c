#include "scheduler/jobs/job_manifest.h"

#include <math.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "scheduler/jobs/job_manifest_internal.h"
#include "base/digest_set.h"
#include "store/jobs/job_checkpoints.h"

/* A running job may store a newer checkpoint and drop this one between two steps. */
enum { TRIES_MAX = 16 };

/* Memory of an open content beside its bytes and chunks. */
enum { CONTENT_BYTES = 512 };

void job_manifest_close(JobManifest *job_manifest) {
    if (!job_manifest) return;
    memory_free(job_manifest->chunks);
    memory_free(job_manifest->model_chunks);
    byte_writer_deinit(&job_manifest->manifest);
    byte_writer_deinit(&job_manifest->policy_bytes);
    byte_writer_deinit(&job_manifest->point_bytes);
    stored_executable_close(job_manifest->model);
    memory_free(job_manifest->outputs);
    array_bundle_deinit(&job_manifest->made_inputs);
    container_release(job_manifest->execution);
    job_point_deinit(&job_manifest->point);
    chunk_reader_close(job_manifest->reader);
    while (job_manifest->content_count > 0)
        stored_content_close(job_manifest->contents[--job_manifest->content_count]);
    memory_free(job_manifest->contents);
    job_policy_deinit(&job_manifest->policy);
    memory_free(job_manifest);
}

static Error *read_row(JobManifest *self) {
    ByteWriter OWN_BYTES(policy) = {0};
    const JobExportRequest *wanted = &self->wanted;
    TRY(jobs_get(self->store, wanted->tenant, wanted->job, &self->row));
    TRY(jobs_get_policy(self->store, wanted->tenant, wanted->job, &policy));
    return job_policy_read(policy.data, policy.size, &self->policy);
}

/* Opens a content, which stays open as long as the manifest. */
static Error *open_content(
    JobManifest *self, JobContentKind kind, int64_t sequence, StoredContent **out_content) {
    void *contents = self->contents;
    TRY(memory_grow(
        &contents, self->content_count, &self->content_capacity, sizeof *self->contents));
    self->contents = contents;
    TRY(stored_content_open(
        self->store, self->row.tenant, self->row.id, kind, sequence, out_content));
    self->contents[self->content_count++] = *out_content;
    return NULL;
}

/* ---- where the job goes on ---- */

static Error *try_checkpoint(JobManifest *self, JobCheckpoint *out) {
    const JobExportRequest *wanted = &self->wanted;
    TRY(job_checkpoints_get(self->store, wanted->tenant, wanted->job, wanted->checkpoint, out));
    return open_content(self, JOB_CONTENT_CHECKPOINT, out->number, &self->checkpoint);
}

static Error *open_checkpoint(JobManifest *self) {
    JobCheckpoint found = {0};
    Error *error = NULL;
    size_t size;
    if (self->wanted.checkpoint == 0 && isnan(self->row.checkpoint_created)) return NULL;
    for (int i = 0; i < TRIES_MAX; i++) {
        error_free(error); /* this checkpoint is not the newest any more: try the next one */
        error = try_checkpoint(self, &found);
        if (self->wanted.checkpoint > 0 || error_code(error) != ERROR_NOT_FOUND) break;
    }
    TRY(error);
    const uint8_t *bytes = stored_content_bytes(self->checkpoint, &size);
    TRY(job_point_read(bytes, size, &self->point));
    self->items_done = self->row.items_total < 0 ? 0 : found.items_done;
    if (!self->point.manifest) return NULL;
    return container_open_manifest(CONTAINER_CHECKPOINT, self->point.manifest,
        self->point.manifest_size, chunk_reader_source(self->reader), &self->execution);
}

/* ---- arrays, as they are stored ---- */

static JobFileArrays arrays_of(const StoredContent *content) {
    JobFileArrays arrays;
    arrays.bytes = stored_content_bytes(content, &arrays.size);
    arrays.chunks = stored_content_chunks(content, &arrays.chunk_count);
    return arrays;
}

/* The new owner of the job gets every output that could be seen, also those that the job makes
 * again from its checkpoint on: a reader never sees fewer outputs than before. */
static Error *open_outputs(JobManifest *self) {
    int64_t count = self->point.sequence;
    if (self->wanted.owns && self->row.outputs_visible > count) count = self->row.outputs_visible;
    for (int64_t i = 0; i < count; i++) {
        StoredContent *content;
        void *outputs = self->outputs;
        TRY(memory_grow(
            &outputs, self->output_count, &self->output_capacity, sizeof *self->outputs));
        self->outputs = outputs;
        TRY(open_content(self, JOB_CONTENT_OUTPUT, i, &content));
        self->outputs[self->output_count++] = arrays_of(content);
    }
    return NULL;
}

bool job_manifest_has_used_inputs(const JobManifest *job_manifest) {
    return !job_manifest->policy.items && job_manifest->execution;
}

Error *job_manifest_open_inputs(JobManifest *self) {
    const ArrayList none = {0};
    StoredContent *content;
    if (!job_manifest_has_used_inputs(self)) {
        TRY(open_content(self, JOB_CONTENT_INPUTS, 0, &content));
        self->inputs = arrays_of(content);
        return NULL;
    }
    TRY(array_bundle_write(&none, NULL, (ChunkSink){0}, &self->made_inputs));
    self->inputs = (JobFileArrays){
        .bytes = self->made_inputs.bytes.data, .size = self->made_inputs.bytes.size};
    return NULL;
}

/* ---- the manifest ---- */

/* Leaves out what belongs to this home or to this run of it. The time of a job's first slice is
 * known here alone; a job that moves takes everything else along. */
static Error *write_scheduler_bytes(JobManifest *self, JobFileOwner owner) {
    JobPolicy policy = self->policy;
    JobPoint point = self->point;
    policy.suspend_after_ns = 0;
    if (owner != JOB_FILE_MOVE) policy.suspend_at = 0;
    if (owner != JOB_FILE_MOVE || !policy.items) policy.items_before = 0;
    point.manifest = NULL; /* it stands in the file's own sections */
    job_policy_write(&policy, &self->policy_bytes);
    TRY(byte_writer_check(&self->policy_bytes));
    return job_point_write(&point, &self->point_bytes);
}

static Error *write_manifest(JobManifest *self, JobFileOwner owner) {
    const Job *row = &self->row;
    Digest identity;
    JobFile file = {.origin = {.node = row->id.node,
                        .number = row->id.number,
                        .epoch = row->epoch,
                        .owner = owner},
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
        .inputs = self->inputs,
        .outputs = self->outputs,
        .output_count = self->output_count,
        .executable_identity = row->executable};
    if (self->model)
        file.executable = stored_executable_manifest(self->model, &file.executable_size);
    return job_file_write(&file, self->execution, &self->manifest, &identity);
}

/* ---- the chunks ---- */

typedef struct ChunkList {
    ChunkRef **items;
    size_t *count, *capacity;
    DigestSet *seen;
} ChunkList;

static Error *list_chunks(const ChunkList *list, const ChunkRef *refs, size_t count) {
    for (size_t i = 0; i < count; i++) {
        void *items = *list->items;
        if (digest_set_find(list->seen, &refs[i].hash)) continue;
        TRY(digest_set_add(list->seen, &refs[i].hash, 1));
        TRY(memory_grow(&items, *list->count, list->capacity, sizeof **list->items));
        *list->items = items;
        (*list->items)[(*list->count)++] = refs[i];
    }
    return NULL;
}

static Error *list_contents(JobManifest *self) {
    DigestSet OWN_DIGEST_SET(seen) = {0};
    const ChunkList list = {&self->chunks, &self->chunk_count, &self->chunk_capacity, &seen};
    for (size_t i = 0; i < self->content_count; i++) {
        size_t count;
        const ChunkRef *refs = stored_content_chunks(self->contents[i], &count);
        TRY(list_chunks(&list, refs, count));
    }
    return NULL;
}

static Error *list_model(JobManifest *self) {
    DigestSet OWN_DIGEST_SET(seen) = {0};
    const ChunkList list = {
        &self->model_chunks, &self->model_chunk_count, &self->model_chunk_capacity, &seen};
    size_t count;
    if (!self->model) return NULL;
    const ChunkRef *refs = stored_executable_chunks(self->model, &count);
    return list_chunks(&list, refs, count);
}

/* ---- all of it ---- */

static Error *open_all(JobManifest *self) {
    TRY(read_row(self));
    TRY(chunk_reader_open(self->store, self->row.tenant, &self->reader));
    TRY(open_checkpoint(self));
    TRY(open_outputs(self));
    if (!self->wanted.with_model) return NULL;
    return stored_executable_open(
        self->store, self->row.tenant, &self->row.executable, &self->model);
}

Error *job_manifest_begin(
    Store *store, const JobExportRequest *wanted, JobManifest **out_manifest) {
    OWN(JobManifest, job_manifest) = NULL;
    TRY(memory_alloc(1, sizeof *job_manifest, (void **)&job_manifest));
    job_manifest->store = store;
    job_manifest->wanted = *wanted;
    TRY(open_all(job_manifest));
    *out_manifest = TAKE(job_manifest);
    return NULL;
}

Error *job_manifest_finish(JobManifest *job_manifest, JobFileOwner owner) {
    TRY(write_scheduler_bytes(job_manifest, owner));
    TRY(write_manifest(job_manifest, owner));
    TRY(list_contents(job_manifest));
    return list_model(job_manifest);
}

Error *job_manifest_open(Store *store, const JobExportRequest *wanted, JobManifest **out_manifest) {
    OWN(JobManifest, job_manifest) = NULL;
    JobExportRequest owner = *wanted;
    owner.owns = true;
    TRY(job_manifest_begin(store, &owner, &job_manifest));
    TRY(job_manifest_open_inputs(job_manifest));
    TRY(job_manifest_finish(job_manifest, JOB_FILE_MOVE));
    *out_manifest = TAKE(job_manifest);
    return NULL;
}

uint64_t job_manifest_chunk_bytes(const JobManifest *job_manifest) {
    uint64_t bytes = job_manifest->manifest.size + job_manifest->point_bytes.size;
    const uint64_t chunks = job_manifest->chunk_capacity + job_manifest->model_chunk_capacity;
    for (size_t i = 0; i < job_manifest->content_count; i++) {
        size_t size, count;
        (void)stored_content_bytes(job_manifest->contents[i], &size);
        (void)stored_content_chunks(job_manifest->contents[i], &count);
        bytes += size + CONTENT_BYTES + 2 * count * sizeof(ChunkRef); /* and as pins */
    }
    return bytes + chunks * sizeof(ChunkRef);
}

const uint8_t *job_manifest_bytes(const JobManifest *job_manifest, size_t *out_size) {
    *out_size = job_manifest->manifest.size;
    return job_manifest->manifest.data;
}

const ChunkRef *job_manifest_chunks(const JobManifest *job_manifest, size_t *out_count) {
    *out_count = job_manifest->chunk_count;
    return job_manifest->chunks;
}

const ChunkRef *job_manifest_model_chunks(const JobManifest *job_manifest, size_t *out_count) {
    *out_count = job_manifest->model_chunk_count;
    return job_manifest->model_chunks;
}

ChunkSource job_manifest_source(JobManifest *job_manifest) {
    return chunk_reader_source(job_manifest->reader);
}
