#include "scheduler/jobs/job_intake.h"

#include <sys/random.h>

#include "base/allocator.h"
#include "scheduler/jobs/intake_inputs.h"
#include "serialize/arrays/array_values.h"

enum { ITEMS_WITHOUT_BYTES_MAX = 65536 };

/* What stands behind one submission until the catalog has it. */
typedef struct Intake {
    const JobIntake *wanted;
    JobPolicy job_policy; /* the wanted one with a random key; texts are the wanted one's */
    Digest request;
    Digest executable;
    Executable *outline;
    uint32_t function;
    IntakeInputs arrays;
    ChunkUpload *upload;
    ArrayBundle bundle;
    JobContent inputs;
    ByteWriter policy;
    Batch *batch; /* NULL: the inputs are only in the store */
    int64_t item_count;
    uint64_t live_bytes;
} Intake;

static void intake_deinit(Intake *intake) {
    batch_release(intake->batch);
    byte_writer_deinit(&intake->policy);
    array_bundle_deinit(&intake->bundle);
    chunk_upload_close(intake->upload);
    intake_inputs_close(&intake->arrays);
    executable_release(intake->outline);
}

static Error *find_model(SettingsCache *settings, Intake *intake) {
    const JobIntake *wanted = intake->wanted;
    TRY(settings_cache_get_model(
        settings, wanted->tenant, wanted->model, &intake->executable, &intake->outline));
    return executable_find_function(intake->outline, wanted->policy->function, &intake->function);
}

static Error *store_inputs(Store *store, WorkerPool *pool, Intake *intake) {
    TRY(chunk_upload_open(store, intake->wanted->tenant, &intake->upload));
    chunk_upload_limit(intake->upload);
    TRY(intake_inputs_write(
        &intake->arrays, pool, chunk_upload_sink(intake->upload), &intake->bundle));
    intake->inputs = (JobContent){.bytes = intake->bundle.bytes.data,
        .size = intake->bundle.bytes.size,
        .chunks = intake->bundle.chunks,
        .chunk_count = intake->bundle.chunk_count};
    return job_content_stage(intake->upload, intake->wanted->tenant, &intake->inputs);
}

/* The first run's arguments against the ports: what fails here would fail when the job runs. */
static Error *check_first_run(Intake *intake, const Batch *batch) {
    const Function *function = &intake->outline->functions[intake->function];
    Value *values;
    intake->item_count = batch_item_count(batch);
    if (batch_run_count(batch) == 0) return NULL;
    TRY(batch_get_arguments(batch, 0, &values));
    Error *error = execution_check_tensors(function, values);
    for (uint32_t i = 0; i < function->parameter_count; i++)
        intake->live_bytes += array_values_bytes(&values[i]);
    array_values_release(values, function->parameter_count);
    return error;
}

static Error *make_batch(Intake *intake, ArrayList *inout_arrays, Batch **out_batch) {
    const BatchOptions options = job_policy_batch_options(intake->wanted->policy);
    return batch_create(intake->outline, intake->function, inout_arrays, &options, out_batch);
}

/* A few bytes of a file may say that there are as many items as one likes, where an item has no
 * element: each of them is a run and a row all the same. */
static Error *check_item_count(const Intake *intake) {
    const uint64_t bytes = intake->arrays.file.bytes;
    if (!intake->wanted->policy->items || intake->item_count <= ITEMS_WITHOUT_BYTES_MAX)
        return NULL;
    if ((uint64_t)intake->item_count - ITEMS_WITHOUT_BYTES_MAX <= bytes) return NULL;
    FAIL(INVALID,
        "%lld items of %llu bytes in all: a job takes %d items beyond one for each byte of its "
        "inputs; split it",
        (long long)intake->item_count, (unsigned long long)bytes, ITEMS_WITHOUT_BYTES_MAX);
}

/* Everything that the file and the quotas say of the inputs, before one of them is unpacked. */
static Error *check_inputs(Intake *intake, const Tenant *tenant) {
    const JobIntake *wanted = intake->wanted;
    const Function *function = &intake->outline->functions[intake->function];
    ArrayList OWN_ARRAYS(outlines) = {0};
    OWN(Batch, batch) = NULL;
    TRY_WRAP(intake_inputs_open(wanted->inputs, wanted->inputs_size, &intake->arrays), "inputs");
    TRY(intake_inputs_check(&intake->arrays, function, wanted->policy->items, tenant));
    TRY_WRAP(intake_inputs_charge(&intake->arrays, wanted->budget, tenant), "inputs");
    TRY(intake_inputs_outline(&intake->arrays, &outlines));
    TRY(make_batch(intake, &outlines, &batch));
    TRY(check_first_run(intake, batch));
    return check_item_count(intake);
}

/* Where all of them are in memory the job can begin with them. */
static Error *take_inputs(Intake *intake, const ControlOptions *node) {
    TRY_WRAP(intake_inputs_read(&intake->arrays), "inputs");
    TRY(store_inputs(node->store, node->pool, intake));
    if (intake->arrays.streams) return NULL;
    return make_batch(intake, &intake->arrays.arrays, &intake->batch);
}

/* Of everything that was asked for: the same key must come with the same digest. */
static Error *digest_request(Intake *intake) {
    ByteWriter OWN_BYTES(bytes) = {0};
    byte_write_bytes(&bytes, intake->executable.bytes, DIGEST_SIZE);
    byte_write_bytes(&bytes, intake->inputs.digest.bytes, DIGEST_SIZE);
    byte_write_u32(&bytes, (uint32_t)intake->wanted->priority);
    byte_write_u32(&bytes, (uint32_t)intake->wanted->release);
    job_policy_write(intake->wanted->policy, &bytes);
    TRY(byte_writer_check(&bytes));
    return digest_sha256(bytes.data, bytes.size, &intake->request);
}

/* The policy as it is stored: each job has random numbers of its own. */
static Error *fix_policy(Intake *intake) {
    TRY(digest_request(intake));
    intake->job_policy = *intake->wanted->policy;
    uint64_t *key = &intake->job_policy.random_key;
    if (getrandom(key, sizeof *key, 0) != (ssize_t)sizeof *key)
        FAIL(IO, "the system gives no random numbers");
    job_policy_write(&intake->job_policy, &intake->policy);
    return byte_writer_check(&intake->policy);
}

static Error *submit(Control *control, Intake *intake, JobId *out_id, bool *out_created) {
    const JobIntake *wanted = intake->wanted;
    ControlSubmission submission = {.tenant = wanted->tenant,
        .policy = &intake->job_policy,
        .function = intake->function,
        .constant_bytes = executable_constant_bytes(intake->outline),
        .device_strings = intake->outline->device_strings,
        .live_bytes = intake->live_bytes,
        .state = wanted->suspended ? JOB_STATE_SUSPENDED : JOB_STATE_NONE,
        .job = {.model = wanted->model,
            .executable = intake->executable,
            .key = wanted->key,
            .priority = wanted->priority,
            .release = wanted->release,
            .items_total = intake->item_count,
            .deadline = wanted->deadline,
            .policy = intake->policy.data,
            .policy_size = intake->policy.size,
            .request = intake->request,
            .inputs = &intake->inputs}};
    submission.batch = TAKE(intake->batch);
    return control_submit(control, &submission, out_id, out_created);
}

static Error *take_in(Control *control, Intake *intake, JobId *out_id, bool *out_created) {
    const ControlOptions *node = control_options(control);
    Tenant tenant;
    TRY(find_model(node->settings, intake));
    TRY(settings_cache_get_tenant(node->settings, intake->wanted->tenant, &tenant));
    if (!intake->wanted->suspended) TRY(control_check_queue(control, &tenant));
    TRY(check_inputs(intake, &tenant));
    TRY(take_inputs(intake, node));
    TRY(fix_policy(intake));
    TRY(submit(control, intake, out_id, out_created));
    if (*out_created) chunk_upload_keep(intake->upload);
    return NULL;
}

Error *job_intake_submit(
    Control *control, const JobIntake *intake, JobId *out_id, bool *out_created) {
    Intake state = {.wanted = intake};
    Error *error = take_in(control, &state, out_id, out_created);
    intake_deinit(&state);
    return error;
}
