#include "scheduler/job_import_check.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "scheduler/policy/policy_event.h"
#include "serialize/array_bundle.h"
#include "serialize/array_values.h"
#include "serialize/checkpoint_summary.h"

/* Arrays of one file, decoded: a small file does not ask for all memory. Zeros may compress well.
 */
#define ARRAY_BYTES_BASE ((uint64_t)1 << 30)
enum { ARRAY_BYTES_RATIO = 256 };

Error *job_import_of_file(Error *owned_error) {
    return error_code(owned_error) == ERROR_NOT_FOUND ? error_recode(owned_error, ERROR_CORRUPT)
                                                      : owned_error;
}

void job_import_deinit(JobImportState *state) {
    memory_free(state->outputs);
    chunk_upload_close(state->upload);
    byte_writer_deinit(&state->policy_bytes);
    byte_writer_deinit(&state->point_bytes);
    byte_writer_deinit(&state->no_inputs);
    byte_writer_deinit(&state->execution_packed);
    container_release(state->execution);
    job_point_deinit(&state->point);
    job_policy_deinit(&state->policy);
    executable_release(state->outline);
    container_release(state->model);
    job_file_deinit(&state->file);
    container_release(state->container);
}

/* An execution alone: a single run whose inputs it has. */
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

Error *job_import_check_file(JobImportState *self) {
    if (!job_file_is(self->container)) return make_file(self);
    TRY(job_file_read(self->container, &self->file));
    self->inputs = self->file.inputs;
    self->keeps_outputs = self->wanted->with_outputs || self->file.origin.owner == JOB_FILE_RELEASE;
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
    if (!job_file_is(self->container)) self->function = summary.entry;
    if (summary.entry != self->function || summary.entry >= self->outline->function_count)
        FAIL(CORRUPT, "an execution of function %u instead of %u", summary.entry, self->function);
    self->instructions = summary.instructions;
    self->live_bytes = summary.tensor_bytes;
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
    self->policy.weight = self->policy.checkpoint_keep = 1;
    return memory_copy_text(self->outline->functions[self->function].name, &self->policy.function);
}

static Error *check_policy(JobImportState *self) {
    const JobFile *file = &self->file;
    TRY(job_policy_read(file->policy, file->policy_size, &self->policy));
    if (self->policy.items != (file->items_total >= 0))
        FAIL(CORRUPT, "a policy of another kind of job");
    TRY(executable_find_function(self->outline, self->policy.function, &self->function));
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

static Error *read_arrays(JobImportState *self, const JobFileArrays *from, ArrayList *out) {
    TRY(array_bundle_read(from->bytes, from->size, from->chunks, from->chunk_count, self->pool,
        CHUNK_VERIFY_SHA256, container_get_source(self->container), self->bytes_left, out));
    for (size_t i = 0; i < out->count; i++) self->bytes_left -= out->items[i].size;
    return check_bools(out);
}

/* The next run that is to be begun takes what there is for it. */
static Error *check_next_run(JobImportState *self, const Batch *batch) {
    const Function *function = &self->outline->functions[self->function];
    uint64_t run = self->point.next_run + (self->execution != NULL);
    Value *values;
    if (run >= batch_run_count(batch)) return NULL;
    TRY(batch_get_arguments(batch, run, &values));
    Error *error = execution_check_tensors(function, values);
    for (uint32_t i = 0; i < function->parameter_count && !self->execution; i++)
        self->live_bytes += tensor_bytes(values[i].tensor);
    array_values_release(values, function->parameter_count);
    return error;
}

/* How far the job is, by its runs and by its items. */
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
    if ((uint64_t)point->sequence != file->output_count)
        FAIL(CORRUPT, "%zu outputs instead of %" PRId64, file->output_count, point->sequence);
    return NULL;
}

static Error *check_inputs(JobImportState *self) {
    ArrayList OWN_ARRAYS(arrays) = {0};
    OWN(Batch, batch) = NULL;
    BatchOptions options = job_policy_batch_options(&self->policy);
    options.items_before = options.items ? self->file.items_done : self->execution != NULL;
    TRY(read_arrays(self, &self->inputs, &arrays));
    TRY(batch_create(self->outline, self->function, &arrays, &options, &batch));
    TRY(check_progress(self, batch));
    return check_next_run(self, batch);
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

/* The same arrays as every other run's. *inout_items: of the runs so far. */
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
    int64_t items = 0;
    uint64_t runs = 0;
    if (!self->keeps_outputs) return NULL;
    for (size_t i = 0; i < self->file.output_count; i++) {
        ArrayList OWN_ARRAYS(row) = {0};
        TRY_WRAP(read_arrays(self, &self->file.outputs[i], &row), "output %zu", i);
        if (is_yield(&row, i)) continue;
        if (self->policy.items) TRY_WRAP(check_row(&self->point, &row, &items), "output %zu", i);
        runs++;
    }
    if (self->point.outputs.known && self->point.outputs.count == 0)
        return NULL; /* empty rows: what runs return, or yield */
    if (runs != self->point.next_run || (self->policy.items && items != self->file.items_done))
        FAIL(CORRUPT,
            "outputs of %" PRIu64 " runs with %" PRId64 " items instead of %" PRIu64
            " with %" PRId64,
            runs, items, self->point.next_run, self->file.items_done);
    return NULL;
}

static Error *set_budget(JobImportState *self) {
    struct stat status;
    if (stat(self->wanted->path, &status) != 0)
        FAIL(IO, "cannot be looked at: %s", strerror(errno));
    self->bytes_left = ARRAY_BYTES_BASE + ARRAY_BYTES_RATIO * (uint64_t)status.st_size;
    return NULL;
}

Error *job_import_check(JobImportState *self) {
    TRY(set_budget(self));
    TRY(job_file_is(self->container) ? check_policy(self) : make_policy(self));
    TRY_WRAP(check_inputs(self), "inputs");
    return error_wrap(check_outputs(self), "outputs");
}
