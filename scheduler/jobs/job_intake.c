#include "scheduler/jobs/job_intake.h"

#include "base/allocator.h"
#include "base/system_random.h"
#include "scheduler/jobs/intake_inputs.h"
#include "serialize/arrays/array_values.h"

enum { ITEMS_WITHOUT_BYTES_MAX = 65536 };

/* The state of one submission until the catalog has it. */
typedef struct Intake {
    Submission *job;
    Executable *outline;
    IntakeInputs arrays;
    ChunkUpload *upload;
    ArrayBundle bundle; /* the submission's stored inputs */
} Intake;

static void intake_deinit(Intake *intake) {
    intake->job->stored_inputs = (JobContent){0};
    array_bundle_deinit(&intake->bundle);
    chunk_upload_close(intake->upload);
    intake_inputs_close(&intake->arrays);
    executable_release(intake->outline);
}

static Error *find_model(SettingsCache *settings, Intake *intake) {
    Submission *job = intake->job;
    TRY(settings_cache_get_model(
        settings, job->tenant, job->model, &job->executable, &intake->outline));
    job->constant_bytes = executable_constant_bytes(intake->outline);
    job->device_strings = intake->outline->device_strings;
    return executable_find_function(intake->outline, job->policy.function, &job->function);
}

static Error *store_inputs(Store *store, WorkerPool *pool, Intake *intake) {
    TRY(chunk_upload_open(store, intake->job->tenant, &intake->upload));
    chunk_upload_limit(intake->upload);
    TRY(intake_inputs_write(
        &intake->arrays, pool, chunk_upload_sink(intake->upload), &intake->bundle));
    intake->job->stored_inputs = (JobContent){.bytes = intake->bundle.bytes.data,
        .size = intake->bundle.bytes.size,
        .chunks = intake->bundle.chunks,
        .chunk_count = intake->bundle.chunk_count};
    return job_content_stage(intake->upload, intake->job->tenant, &intake->job->stored_inputs);
}

/* The first run's arguments against the ports: what fails here would fail when the job runs. */
static Error *check_first_run(Intake *intake, const Batch *batch) {
    const Function *function = &intake->outline->functions[intake->job->function];
    Value *values;
    intake->job->item_count = batch_item_count(batch);
    if (batch_run_count(batch) == 0) return NULL;
    TRY(batch_get_arguments(batch, 0, &values));
    Error *error = execution_check_tensors(function, values);
    for (uint32_t i = 0; i < function->parameter_count; i++)
        intake->job->live_bytes += array_values_bytes(&values[i]);
    array_values_release(values, function->parameter_count);
    return error;
}

static Error *make_batch(Intake *intake, ArrayList *inout_arrays, Batch **out_batch) {
    const BatchOptions options = job_policy_batch_options(&intake->job->policy);
    return batch_create(intake->outline, intake->job->function, inout_arrays, &options, out_batch);
}

/* Bounds the items of a batch job by the bytes of its inputs. Where an item has no element, a few
 * bytes of a file may claim any number of items, and each item is still a run and a row. */
static Error *check_item_count(const Intake *intake) {
    const uint64_t bytes = intake->arrays.file.bytes;
    const Submission *job = intake->job;
    if (!job->policy.items || job->item_count <= ITEMS_WITHOUT_BYTES_MAX) return NULL;
    if ((uint64_t)job->item_count - ITEMS_WITHOUT_BYTES_MAX <= bytes) return NULL;
    FAIL(INVALID,
        "%lld items of %llu bytes in all: a job takes %d items beyond one for each byte of its "
        "inputs; split it",
        (long long)job->item_count, (unsigned long long)bytes, ITEMS_WITHOUT_BYTES_MAX);
}

/* Inputs that are constants in the job's function may be there in its second form. */
static Error *choose_function(Intake *intake) {
    Submission *job = intake->job;
    const Executable *executable = intake->outline;
    const NpzFile *file = &intake->arrays.file;
    uint32_t function = job->function;
    for (size_t i = 0; i < file->count; i++)
        function = executable_choose_function(executable, function, file->items[i].name);
    if (function == job->function) return NULL;
    memory_free(job->policy.function);
    job->policy.function = NULL;
    job->function = function;
    return memory_copy_text(executable->functions[function].name, &job->policy.function);
}

/* Everything that the file and the quotas say of the inputs, before one of them is unpacked. */
static Error *check_inputs(Intake *intake, MemoryBudget *budget, const Tenant *tenant) {
    const Submission *job = intake->job;
    ArrayList OWN_ARRAYS(outlines) = {0};
    OWN(Batch, batch) = NULL;
    TRY_WRAP(intake_inputs_open(job->inputs, job->inputs_size, &intake->arrays), "inputs");
    TRY(choose_function(intake));
    const Function *function = &intake->outline->functions[job->function];
    TRY(intake_inputs_check(&intake->arrays, function, job->policy.items, tenant));
    TRY_WRAP(intake_inputs_charge(&intake->arrays, budget, tenant), "inputs");
    TRY(intake_inputs_outline(&intake->arrays, &outlines));
    TRY(make_batch(intake, &outlines, &batch));
    TRY(check_first_run(intake, batch));
    return check_item_count(intake);
}

/* Takes the inputs; if all of them are in memory the job can begin with them. */
static Error *take_inputs(Intake *intake, const ControlOptions *node) {
    TRY_WRAP(intake_inputs_read(&intake->arrays), "inputs");
    TRY(store_inputs(node->store, node->pool, intake));
    if (intake->arrays.streams) return NULL;
    return make_batch(intake, &intake->arrays.arrays, &intake->job->batch);
}

/* The digest of the whole request: the same key must come with the same digest. */
static Error *digest_request(Submission *job) {
    ByteWriter OWN_BYTES(bytes) = {0};
    byte_write_bytes(&bytes, job->executable.bytes, DIGEST_SIZE);
    byte_write_bytes(&bytes, job->stored_inputs.digest.bytes, DIGEST_SIZE);
    byte_write_u32(&bytes, (uint32_t)job->priority);
    byte_write_u32(&bytes, (uint32_t)job->release);
    job_policy_write(&job->policy, &bytes);
    TRY(byte_writer_check(&bytes));
    return digest_sha256(bytes.data, bytes.size, &job->request);
}

/* Makes the policy as it is stored, with the job's own random numbers. */
static Error *fix_policy(Submission *job) {
    uint64_t *key = &job->policy.random_key;
    TRY(digest_request(job));
    TRY(system_random(key, sizeof *key));
    return submission_store_policy(job);
}

static Error *take_in(
    Control *control, MemoryBudget *budget, Intake *intake, JobId *out_id, bool *out_created) {
    const ControlOptions *node = control_options(control);
    Submission *job = intake->job;
    Tenant tenant;
    TRY(job_policy_check_suspension(&job->policy));
    TRY(find_model(node->settings, intake));
    TRY(settings_cache_get_tenant(node->settings, job->tenant, &tenant));
    if (job->state == JOB_STATE_NONE) TRY(control_check_queue(control, &tenant));
    TRY(check_inputs(intake, budget, &tenant));
    TRY(take_inputs(intake, node));
    TRY(fix_policy(job));
    TRY(control_submit(control, job, out_id, out_created));
    if (*out_created) chunk_upload_keep(intake->upload);
    return NULL;
}

Error *job_intake_submit(Control *control, MemoryBudget *budget, Submission *inout_submission,
    JobId *out_id, bool *out_created) {
    Intake intake = {.job = inout_submission};
    Error *error = take_in(control, budget, &intake, out_id, out_created);
    intake_deinit(&intake);
    return error;
}
