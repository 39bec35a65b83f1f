#include "scheduler/jobs/job_import_check.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "scheduler/policy/policy_event.h"
#include "serialize/arrays/array_bundle.h"
#include "serialize/arrays/array_values.h"
#include "serialize/checkpoint/checkpoint_summary.h"
#include "base/digest_set.h"

/* Upper bound on the decoded arrays of one file, so that a small file cannot ask for all memory.
 * Zeros may compress well. */
#define ARRAY_BYTES_BASE ((uint64_t)1 << 30)
enum { ARRAY_BYTES_RATIO = 256, CHECKED_MAX = 1 << 20 };

Error *job_import_of_file(Error *owned_error) {
    return error_code(owned_error) == ERROR_NOT_FOUND ? error_recode(owned_error, ERROR_CORRUPT)
                                                      : owned_error;
}

const char *job_import_what(const JobImportState *state) {
    return state->wanted.path ? "checkpoint file" : "job manifest";
}

void job_import_deinit(JobImportState *state) {
    memory_free(state->outputs);
    chunk_upload_close(state->upload);
    byte_writer_deinit(&state->point_bytes);
    byte_writer_deinit(&state->no_inputs);
    byte_writer_deinit(&state->execution_packed);
    container_release(state->execution);
    job_point_deinit(&state->point);
    batch_release(state->batch);
    submission_deinit(&state->submission);
    executable_release(state->outline);
    container_release(state->model);
    job_file_deinit(&state->file);
    container_release(state->container);
}

/* Describes an execution alone: a single run that has its inputs. */
static Error *make_file(JobImportState *self) {
    ArrayBundle OWN_BUNDLE(bundle) = {0};
    const ArrayList none = {0};
    CheckpointHeader header;
    TRY(checkpoint_read_header(self->container, &header));
    self->file = (JobFile){.origin.owner = JOB_FILE_COPY,
        .model = "checkpoint",
        .priority = POLICY_NORMAL,
        .release = JOB_RELEASE_LOG,
        .items_total = -1,
        .deadline_s = NAN,
        .executable_identity = header.executable};
    checkpoint_header_deinit(&header);
    TRY(array_bundle_write(&none, NULL, (ChunkSink){0}, &bundle));
    self->no_inputs = bundle.bytes;
    bundle.bytes = (ByteWriter){0};
    self->inputs = (JobFileArrays){.bytes = self->no_inputs.data, .size = self->no_inputs.size};
    return NULL;
}

/* Checks that the job is the one that both nodes agreed upon. */
static Error *check_move(const JobImportState *self) {
    const JobFileOrigin *origin = &self->file.origin;
    const JobImportRequest *wanted = &self->wanted;
    if (!wanted->moves || origin->owner != JOB_FILE_MOVE)
        FAIL(CORRUPT, "a job moves from node to node only, and not as a file");
    if (!job_id_equal((JobId){origin->node, origin->number}, wanted->job) ||
        origin->epoch != wanted->epoch)
        FAIL(CORRUPT, "job %" PRIx64 "-%" PRIu64 " of epoch %" PRId64 " instead of %" PRId64,
            origin->node, origin->number, origin->epoch, wanted->epoch);
    return NULL;
}

Error *job_import_check_file(JobImportState *self) {
    if (!job_file_is(self->container)) {
        if (self->wanted.moves) FAIL(CORRUPT, "an execution without a job");
        return make_file(self);
    }
    TRY(job_file_read(self->container, &self->file));
    self->inputs = self->file.inputs;
    self->moves = self->wanted.moves || self->file.origin.owner == JOB_FILE_MOVE;
    if (self->moves) TRY(check_move(self));
    self->keeps_outputs = self->wanted.with_outputs || self->file.origin.owner != JOB_FILE_COPY;
    if (self->file.priority >= POLICY_CLASS_COUNT)
        FAIL(CORRUPT, "priority %u", self->file.priority);
    return NULL;
}

/* ---- the execution ---- */

static Error *check_summary(JobImportState *self) {
    CheckpointSummary OWN_SUMMARY(summary) = {0};
    TRY(checkpoint_summary_read(self->execution, &summary));
    if (!digest_equal(&summary.header.executable, &self->outline->identity))
        FAIL(CORRUPT, "an execution of another executable");
    if (!job_file_is(self->container)) self->submission.function = summary.entry;
    if (summary.entry != self->submission.function ||
        summary.entry >= self->outline->function_count)
        FAIL(CORRUPT, "an execution of function %u instead of %u", summary.entry,
            self->submission.function);
    self->instructions = summary.instructions;
    self->submission.live_bytes = summary.tensor_bytes;
    return NULL;
}

static Error *read_execution(JobImportState *self) {
    ByteWriter OWN_BYTES(manifest) = {0};
    if (!job_file_has_execution(self->container)) return NULL;
    TRY(job_file_get_execution(self->container, &manifest));
    TRY(container_pack_manifest(manifest.data, manifest.size, &self->execution_packed));
    TRY(container_open_manifest(CONTAINER_CHECKPOINT, manifest.data, manifest.size,
        container_get_source(self->container), &self->execution));
    return check_summary(self);
}

/* ---- policy and function ---- */

static Error *make_policy(JobImportState *self) {
    TRY(read_execution(self));
    if (!self->execution) FAIL(CORRUPT, "a checkpoint without an execution");
    self->submission.policy.weight = self->submission.policy.checkpoint_keep = 1;
    return memory_copy_text(self->outline->functions[self->submission.function].name,
        &self->submission.policy.function);
}

static Error *check_policy(JobImportState *self) {
    const JobFile *file = &self->file;
    TRY(job_policy_read(file->policy, file->policy_size, &self->submission.policy));
    if (self->submission.policy.items != (file->items_total >= 0))
        FAIL(CORRUPT, "a policy of another kind of job");
    TRY(executable_find_function(
        self->outline, self->submission.policy.function, &self->submission.function));
    TRY_WRAP(job_point_read(file->point, file->point_size, &self->point), "point");
    if (self->point.manifest) FAIL(CORRUPT, "an execution in the wrong place");
    return read_execution(self);
}

/* ---- inputs ---- */

static Error *check_bools(const ArrayList *arrays) {
    for (size_t i = 0; i < arrays->count; i++)
        if (arrays->items[i].dtype == DTYPE_BOOL)
            TRY_WRAP(array_check_bools(arrays->items[i].data, arrays->items[i].size), "array %s",
                arrays->items[i].name);
    return NULL;
}

/* Equal names: equal arrays. */
static Error *name_arrays(const JobFileArrays *arrays, Digest *out_name) {
    OWN(DigestStream, stream) = NULL;
    TRY(digest_stream_create(&stream));
    TRY(digest_stream_add(stream, &arrays->size, sizeof arrays->size));
    TRY(digest_stream_add(stream, arrays->bytes, arrays->size));
    for (size_t i = 0; i < arrays->chunk_count; i++)
        TRY(digest_stream_add(stream, arrays->chunks[i].hash.bytes, DIGEST_SIZE));
    return digest_stream_finish(stream, out_name);
}

static Error *decode_arrays(JobImportState *self, const JobFileArrays *from, ArrayList *out) {
    TRY(array_bundle_read(from->bytes, from->size, from->chunks, from->chunk_count, self->pool,
        self->wanted.verify, container_get_source(self->container), self->bytes_left, out));
    return check_bools(out);
}

/* Of arrays that were decoded before, only the form is read again, which is the part that must
 * match here. */
static Error *read_arrays(
    JobImportState *self, const JobFileArrays *from, ArrayList *out, bool *out_decoded) {
    DigestSet *checked = self->wanted.checked;
    Digest name;
    if (checked) TRY(name_arrays(from, &name));
    *out_decoded = !checked || !digest_set_find(checked, &name);
    if (!*out_decoded)
        TRY(array_bundle_read_form(
            from->bytes, from->size, from->chunks, from->chunk_count, self->bytes_left, out));
    else {
        TRY(decode_arrays(self, from, out));
        if (checked && checked->count < CHECKED_MAX) TRY(digest_set_add(checked, &name, 1));
    }
    for (size_t i = 0; i < out->count; i++) self->bytes_left -= out->items[i].size;
    return NULL;
}

/* Checks that the next run has its arguments. */
static Error *check_next_run(JobImportState *self, const Batch *batch) {
    const Function *function = &self->outline->functions[self->submission.function];
    uint64_t run = self->point.next_run + (self->execution != NULL);
    Value *values;
    if (run >= batch_run_count(batch)) return NULL;
    TRY(batch_get_arguments(batch, run, &values));
    Error *error = execution_check_tensors(function, values);
    for (uint32_t i = 0; i < function->parameter_count && !self->execution; i++)
        self->submission.live_bytes += array_values_bytes(&values[i]);
    array_values_release(values, function->parameter_count);
    return error;
}

/* Checks how far the job is, by its runs and by its items. */
static Error *check_progress(const JobImportState *self, const Batch *batch) {
    const JobFile *file = &self->file;
    const JobPoint *point = &self->point;
    uint64_t runs = batch_run_count(batch);
    if (batch_item_count(batch) != file->items_total)
        FAIL(CORRUPT, "%" PRId64 " items instead of %" PRId64, batch_item_count(batch),
            file->items_total);
    if (point->next_run > runs || (self->execution && point->next_run == runs) ||
        batch_items_before(batch, point->next_run) != file->items_done)
        FAIL(CORRUPT, "run %" PRIu64 " of %" PRIu64 " with %" PRId64 " items done", point->next_run,
            runs, file->items_done);
    bool owned = file->origin.owner != JOB_FILE_COPY; /* what it makes again may be there already */
    if ((uint64_t)point->sequence > file->output_count ||
        (!owned && (uint64_t)point->sequence != file->output_count))
        FAIL(CORRUPT, "%zu outputs instead of %" PRId64, file->output_count, point->sequence);
    return NULL;
}

/* Which item the inputs begin with; of a single run, whether they are used. */
static Error *find_items_before(const JobImportState *self, int64_t *out) {
    const JobFile *file = &self->file;
    uint64_t whole = self->submission.policy.items_before; /* of inputs as they were stored */
    *out = self->submission.policy.items ? file->items_done : self->execution != NULL;
    if (!self->moves) return NULL;
    if (whole > (self->submission.policy.items ? (uint64_t)file->items_done : 0))
        FAIL(CORRUPT, "inputs from item %" PRIu64 " on, with %" PRId64 " items done", whole,
            file->items_done);
    if (self->submission.policy.items) *out = (int64_t)whole;
    return NULL;
}

static Error *check_inputs(JobImportState *self) {
    ArrayList OWN_ARRAYS(arrays) = {0};
    OWN(Batch, batch) = NULL;
    BatchOptions options = job_policy_batch_options(&self->submission.policy);
    bool decoded;
    TRY(find_items_before(self, &options.items_before));
    TRY(read_arrays(self, &self->inputs, &arrays, &decoded));
    TRY(batch_create(self->outline, self->submission.function, &arrays, &options, &batch));
    TRY(check_progress(self, batch));
    TRY(check_next_run(self, batch));
    if (!self->moves) return NULL;
    if (decoded) self->batch = TAKE(batch);
    return name_arrays(&self->inputs, &self->inputs_name);
}

/* ---- outputs: so that they can be shown together with those that come ---- */

/* "yield.N" or "yield.N.…" of the row's own number. */
static bool is_yield(const ArrayList *row, size_t sequence) {
    char name[32];
    int size = snprintf(name, sizeof name, "yield.%zu", sequence);
    for (size_t i = 0; i < row->count; i++) {
        const char *is = row->items[i].name;
        if (strncmp(is, name, (size_t)size) != 0 || (is[size] != 0 && is[size] != '.'))
            return false;
    }
    return true;
}

/* Checks that a run's arrays have the form of every other run's. *inout_items: of the runs so
 * far. */
static Error *check_row(JobPoint *point, const ArrayList *row, int64_t *inout_items) {
    const NamedArray *first = row->count > 0 ? &row->items[0] : NULL;
    if (!point->outputs.known || !first || first->shape.rank == 0)
        FAIL(CORRUPT, "it is none of a batch");
    if (!checked_add_i64(*inout_items, first->shape.dims[0], inout_items))
        FAIL(CORRUPT, "%" PRId64 " items", first->shape.dims[0]);
    return error_recode(
        batch_outputs_check(&point->outputs, row, first->shape.dims[0]), ERROR_CORRUPT);
}

static Error *check_outputs(JobImportState *self) {
    int64_t items = 0, more = 0;
    uint64_t runs = 0;
    bool decoded;
    if (!self->keeps_outputs) return NULL;
    for (size_t i = 0; i < self->file.output_count; i++) {
        ArrayList OWN_ARRAYS(row) = {0};
        TRY_WRAP(read_arrays(self, &self->file.outputs[i], &row, &decoded), "output %zu", i);
        if (is_yield(&row, i)) continue;
        bool before = i < (size_t)self->point.sequence;      /* the checkpoint */
        if (!before && !self->point.outputs.known) continue; /* of runs that are to come again */
        if (self->submission.policy.items)
            TRY_WRAP(check_row(&self->point, &row, before ? &items : &more), "output %zu", i);
        runs += before;
    }
    if (self->point.outputs.known && self->point.outputs.count == 0)
        return NULL; /* empty rows: what runs return, or yield */
    if (runs != self->point.next_run ||
        (self->submission.policy.items && items != self->file.items_done))
        FAIL(CORRUPT,
            "outputs of %" PRIu64 " runs with %" PRId64 " items instead of %" PRIu64
            " with %" PRId64,
            runs, items, self->point.next_run, self->file.items_done);
    return NULL;
}

/* ---- how much may be decoded ---- */

static Error *add_chunks(DigestSet *seen, const JobFileArrays *arrays, uint64_t *inout_bytes) {
    for (size_t i = 0; i < arrays->chunk_count; i++) {
        const ChunkRef *ref = &arrays->chunks[i];
        if (digest_set_find(seen, &ref->hash)) continue;
        TRY(digest_set_add(seen, &ref->hash, 1));
        *inout_bytes += ref->raw_size; /* of a manifest of at most 1 GiB: it cannot overflow */
    }
    return NULL;
}

/* Counts the bytes of a manifest, and of its different chunks. */
static Error *count_bytes(const JobImportState *self, uint64_t *out_bytes) {
    DigestSet OWN_DIGEST_SET(seen) = {0};
    ByteReader manifest = container_get_manifest(self->container);
    *out_bytes = manifest.size;
    TRY(add_chunks(&seen, &self->inputs, out_bytes));
    for (size_t i = 0; i < self->file.output_count; i++)
        TRY(add_chunks(&seen, &self->file.outputs[i], out_bytes));
    return NULL;
}

static Error *set_budget(JobImportState *self) {
    struct stat status;
    uint64_t bytes;
    if (!self->wanted.path)
        TRY(count_bytes(self, &bytes));
    else if (stat(self->wanted.path, &status) != 0)
        FAIL(IO, "cannot be looked at: %s", strerror(errno));
    else
        bytes = (uint64_t)status.st_size;
    self->bytes_left = ARRAY_BYTES_BASE + ARRAY_BYTES_RATIO * bytes;
    return NULL;
}

Error *job_import_check(JobImportState *self) {
    TRY(set_budget(self));
    TRY(job_file_is(self->container) ? check_policy(self) : make_policy(self));
    TRY_WRAP(check_inputs(self), "inputs");
    return error_wrap(check_outputs(self), "outputs");
}
