#include "scheduler/jobs/job_import.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "base/clock.h"
#include "scheduler/jobs/job_import_check.h"
#include "scheduler/node/model_loader.h"
#include "scheduler/policy/policy_event.h"
#include "serialize/container/executable_file.h"
#include "store/models/model_reference.h"

/* ---- the model ---- */

static void set_name(JobImportState *self, const ModelVersion *version) {
    (void)snprintf(
        self->model_name, sizeof self->model_name, "%s@%" PRId64, version->model, version->version);
}

/* Sets model_name to the tenant's name for the executable; false: to the file's name for it, since
 * the tenant has no version of it, though jobs may hold it. */
static Error *find_name(JobImportState *self, bool *out_found) {
    OWN(ModelList, models) = NULL;
    *out_found = false;
    (void)snprintf(self->model_name, sizeof self->model_name, "%s", self->file.model);
    TRY(models_list(self->store, self->wanted.tenant, &models));
    for (size_t i = 0; i < models->count; i++) {
        const ModelVersion *version = &models->items[i];
        if (!digest_equal(&version->executable, &self->file.executable_identity)) continue;
        set_name(self, version);
        *out_found = true;
    }
    return NULL;
}

/* The executable's functions, from the tenant's models or from the file. */
static Error *read_outline(JobImportState *self) {
    const Digest *identity = &self->file.executable_identity;
    bool named;
    TRY(find_name(self, &named));
    if (named || !self->file.executable)
        return model_loader_read_outline(
            self->store, self->wanted.tenant, identity, &self->outline);
    self->imports_model = true; /* the file has the executable */
    TRY_WRAP(container_open_manifest(CONTAINER_EXECUTABLE, self->file.executable,
                 self->file.executable_size, container_get_source(self->container), &self->model),
        "model");
    TRY(container_check_identity(self->model, identity));
    return error_wrap(
        job_import_of_file(executable_read_outline(self->model, &self->outline)), "model");
}

static Error *import_model(JobImportState *self) {
    ModelReference reference;
    ModelVersion OWN_VERSION(version) = {0};
    OWN(Executable, executable) = NULL;
    if (!self->imports_model) return NULL;
    TRY(error_recode(model_reference_parse(self->file.model, &reference), ERROR_CORRUPT));
    TRY(job_import_of_file(model_loader_import(self->store, self->wanted.tenant, self->pool,
        reference.model, self->model, "model", NULL, 0, &version, &executable)));
    set_name(self, &version);
    return NULL;
}

/* ---- what is stored ---- */

static Error *stage(
    JobImportState *self, const JobFileArrays *arrays, ChunkSource source, JobContent *out) {
    *out = (JobContent){.bytes = arrays->bytes,
        .size = arrays->size,
        .chunks = arrays->chunks,
        .chunk_count = arrays->chunk_count};
    TRY(chunk_copy(arrays->chunks, arrays->chunk_count, self->pool, self->wanted.verify, source,
        chunk_upload_sink(self->upload)));
    return job_content_stage(self->upload, self->wanted.tenant, out);
}

/* Makes the point at which the new job continues; it keeps the old numbers if it keeps the
 * outputs. */
static Error *make_point(JobImportState *self) {
    JobPoint point = {.next_run = self->point.next_run,
        .sequence = self->point.sequence,
        .outputs = self->point.outputs,
        .manifest = self->execution_packed.data,
        .manifest_size = self->execution_packed.size};
    if (!self->keeps_outputs)
        point = (JobPoint){.manifest = point.manifest, .manifest_size = point.manifest_size};
    self->has_point = point.next_run > 0 || point.sequence > 0 || point.manifest;
    return job_point_write(&point, &self->point_bytes);
}

static Error *stage_checkpoint(JobImportState *self) {
    JobFileArrays content = {.bytes = self->point_bytes.data, .size = self->point_bytes.size};
    if (self->execution) content.chunks = container_get_refs(self->execution, &content.chunk_count);
    return stage(self, &content, container_get_source(self->container), &self->checkpoint);
}

/* A damaged file is refused even if this home has the undamaged chunks. */
static Error *open_upload(JobImportState *self) {
    TRY(chunk_upload_open(self->store, self->wanted.tenant, &self->upload));
    if (!self->wanted.path) return NULL;
    chunk_upload_limit(self->upload);
    return container_check_known_chunks(
        self->container, self->pool, self->wanted.verify, chunk_upload_sink(self->upload));
}

static Error *stage_all(JobImportState *self) {
    ChunkSource source = container_get_source(self->container);
    void *memory;
    TRY_WRAP(stage(self, &self->inputs, source, &self->submission.stored_inputs), "inputs");
    TRY(make_point(self));
    if (self->has_point) TRY(stage_checkpoint(self));
    if (!self->keeps_outputs) return NULL;
    TRY(memory_alloc(self->file.output_count, sizeof(JobContent), &memory));
    self->outputs = memory;
    for (; self->output_count < self->file.output_count; self->output_count++)
        TRY_WRAP(stage(self, &self->file.outputs[self->output_count], source,
                     &self->outputs[self->output_count]),
            "output %zu", self->output_count);
    return NULL;
}

/* Sets the restorer's options, and those that must not come from a file. */
static Error *fix_policy(JobImportState *self) {
    const JobImportRequest *wanted = &self->wanted;
    JobPolicy *policy = &self->submission.policy;
    memory_free(policy->device);
    policy->device = NULL;
    TRY(memory_copy_text(wanted->device ? wanted->device : "", &policy->device));
    if (wanted->threads) policy->threads = wanted->threads;
    policy->check_finite |= wanted->check_finite;
    policy->suspend_after_ns = wanted->suspend_after_ns;
    if (!self->moves || policy->suspend_at <= self->instructions)
        policy->suspend_at = 0; /* this run's count is over or passed */
    if (wanted->suspend_after &&
        !checked_add_u64(self->instructions, wanted->suspend_after, &policy->suspend_at))
        FAIL(CORRUPT, "%" PRIu64 " instructions are done", self->instructions);
    TRY(job_policy_check_suspension(policy));
    if (policy->items && !self->moves) /* else the inputs are what they were */
        policy->items_before = self->keeps_outputs ? (uint64_t)self->file.items_done : 0;
    if (!policy->items) policy->items_before = self->execution != NULL;
    return submission_store_policy(&self->submission);
}

static JobRestore make_restore(const JobImportState *self) {
    const JobFile *file = &self->file;
    bool owned = file->origin.owner != JOB_FILE_COPY;
    int64_t dropped = self->keeps_outputs ? 0 : file->items_done;
    JobRestore restore = {.items_done = file->items_total >= 0 ? file->items_done - dropped : 0,
        .outputs = self->outputs,
        .output_count = self->output_count,
        .checkpoint_outputs = self->keeps_outputs ? self->point.sequence : 0,
        .checkpoint = self->has_point ? &self->checkpoint : NULL};
    if (owned) {
        restore.id = (JobId){file->origin.node, file->origin.number};
        restore.vouched = self->vouched || self->moves; /* the other node's word */
    }
    return restore;
}

static void fill_submission(JobImportState *self) {
    const JobFile *file = &self->file;
    Submission *job = &self->submission;
    bool owned = file->origin.owner != JOB_FILE_COPY;
    int64_t dropped = self->keeps_outputs ? 0 : file->items_done;
    JobId origin = {file->origin.node, file->origin.number};
    job->tenant = self->wanted.tenant;
    job->model = self->model_name;
    job->priority = (PolicyClass)file->priority;
    job->release = (JobRelease)file->release;
    job->deadline = file->deadline_s + clock_real().calendar_s(clock_real().self);
    if (origin.number) /* not of a checkpoint that is no job's */
        job->origin =
            (JobOrigin){owned ? JOB_ORIGIN_RELEASE : JOB_ORIGIN_COPY, origin, file->origin.epoch};
    job->epoch = owned ? file->origin.epoch + 1 : 0;
    job->executable = file->executable_identity;
    job->constant_bytes = executable_constant_bytes(self->outline);
    job->device_strings = self->outline->device_strings;
    if (job->live_bytes > POLICY_BYTES_MAX) job->live_bytes = POLICY_BYTES_MAX;
    job->item_count = file->items_total >= 0 ? file->items_total - dropped : -1;
}

/* arrival: NULL for a job from a file. owned_run: where it goes on; may be NULL. */
static Error *submit(Control *control, JobImportState *self, const Arrival *arrival,
    ControlArrival *owned_run, JobId *out_id) {
    Submission *job = &self->submission;
    bool created; /* always: there is no key */
    JobRestore restore = make_restore(self);
    restore.arrival = arrival;
    fill_submission(self);
    job->state = arrival ? JOB_STATE_IN_DOUBT : JOB_STATE_NONE;
    job->restore = &restore;
    job->arrival = owned_run;
    Error *error = control_submit(control, job, out_id, &created);
    control_arrival_close(TAKE(job->arrival)); /* unless the job has it */
    job->restore = NULL;
    return error;
}

/* ---- the steps ---- */

static Error *open_container(JobImportState *self) {
    const JobImportRequest *wanted = &self->wanted;
    if (wanted->path)
        return container_open_upload(CONTAINER_CHECKPOINT, wanted->path, &self->container);
    return container_open_manifest(CONTAINER_CHECKPOINT, wanted->manifest, wanted->manifest_size,
        wanted->source, &self->container);
}

static Error *check(JobImportState *self) {
    const char *what = job_import_what(self);
    TRY_WRAP(open_container(self), "%s", what);
    TRY_WRAP(job_import_check_file(self), "%s", what);
    TRY_WRAP(read_outline(self), "%s", what);
    TRY_WRAP(job_import_of_file(job_import_check(self)), "%s", what);
    return fix_policy(self);
}

Error *job_import_open(
    Store *store, WorkerPool *pool, const JobImportRequest *wanted, JobImportState **out_state) {
    OWN(JobImportState, state) = NULL;
    TRY(memory_alloc(1, sizeof *state, (void **)&state));
    state->wanted = *wanted;
    if (wanted->path) state->wanted.verify = CHUNK_VERIFY_SHA256; /* from anywhere */
    state->store = store;
    state->pool = pool;
    TRY(check(state));
    *out_state = TAKE(state);
    return NULL;
}

void job_import_close(JobImportState *state) {
    if (!state) return;
    job_import_deinit(state);
    memory_free(state);
}

const JobFile *job_import_get_file(const JobImportState *state) { return &state->file; }

const Container *job_import_get_execution(const JobImportState *state) { return state->execution; }

Error *job_import_stage(JobImportState *state) {
    const char *what = job_import_what(state);
    if (state->is_staged) return NULL;
    TRY_WRAP(job_import_of_file(open_upload(state)), "%s", what);
    TRY_WRAP(import_model(state), "%s", what);
    state->imports_model = false; /* the tenant has the model now */
    TRY_WRAP(job_import_of_file(stage_all(state)), "%s", what);
    state->is_staged = true;
    return NULL;
}

void job_import_vouch(JobImportState *state) { state->vouched = true; }

Error *job_import_submit(JobImportState *state, Control *control, JobId *out_id) {
    TRY(job_import_stage(state));
    TRY(submit(control, state, NULL, NULL, out_id));
    if (state->upload) chunk_upload_keep(state->upload);
    return NULL;
}

Batch *job_import_take_batch(JobImportState *state) { return TAKE(state->batch); }

const JobPolicy *job_import_get_policy(const JobImportState *state) {
    return &state->submission.policy;
}

uint32_t job_import_get_function(const JobImportState *state) { return state->submission.function; }

Error *job_import_name_run(const JobImportState *state, Digest *out_name) {
    OWN(DigestStream, stream) = NULL;
    const ByteWriter *policy = &state->submission.stored_policy;
    uint32_t function = state->submission.function;
    TRY(digest_stream_create(&stream));
    TRY(digest_stream_add(stream, &function, sizeof function));
    TRY(digest_stream_add(stream, state->file.executable_identity.bytes, DIGEST_SIZE));
    TRY(digest_stream_add(stream, state->inputs_name.bytes, DIGEST_SIZE));
    TRY(digest_stream_add(stream, policy->data, policy->size));
    return digest_stream_finish(stream, out_name);
}

const void *job_import_get_point(const JobImportState *state, size_t *out_size) {
    *out_size = state->point_bytes.size;
    return state->has_point ? state->point_bytes.data : NULL;
}

Error *job_import_arrive(
    JobImportState *state, Control *control, const Arrival *arrival, ControlArrival *owned_run) {
    JobId id;
    Error *error = job_import_stage(state);
    if (!error) return submit(control, state, arrival, owned_run, &id);
    control_arrival_close(owned_run);
    return error;
}

Error *job_import_restore(Control *control, Store *store, WorkerPool *pool,
    const JobImportRequest *wanted, JobId *out_id) {
    OWN(JobImportState, state) = NULL;
    TRY(job_import_open(store, pool, wanted, &state));
    return job_import_submit(state, control, out_id);
}
