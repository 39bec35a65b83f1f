#include "scheduler/job_intake.h"

#include <sys/random.h>

#include "base/allocator.h"
#include "serialize/array_bundle.h"
#include "serialize/array_values.h"

/* What stands behind one submission until the catalog has it. */
typedef struct Intake {
    const JobIntake *wanted;
    JobPolicy job_policy; /* the wanted one with a random key; texts are the wanted one's */
    Digest request;
    Digest executable;
    Executable *outline;
    uint32_t function;
    ChunkUpload *upload;
    ArrayBundle bundle;
    JobContent inputs;
    ByteWriter policy;
    Batch *batch;
    uint64_t live_bytes;
} Intake;

static void intake_deinit(Intake *intake) {
    batch_release(intake->batch);
    byte_writer_deinit(&intake->policy);
    array_bundle_deinit(&intake->bundle);
    chunk_upload_close(intake->upload);
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
    TRY(array_bundle_write(
        intake->wanted->inout_inputs, pool, chunk_upload_sink(intake->upload), &intake->bundle));
    intake->inputs = (JobContent){.bytes = intake->bundle.bytes.data,
        .size = intake->bundle.bytes.size,
        .chunks = intake->bundle.chunks,
        .chunk_count = intake->bundle.chunk_count};
    return job_content_stage(intake->upload, intake->wanted->tenant, &intake->inputs);
}

/* The first run's arguments against the ports: what fails here would fail when the job runs. */
static Error *check_first_run(Intake *intake) {
    const Function *function = &intake->outline->functions[intake->function];
    Value *values;
    if (batch_run_count(intake->batch) == 0) return NULL;
    TRY(batch_get_arguments(intake->batch, 0, &values));
    Error *error = execution_check_tensors(function, values);
    for (uint32_t i = 0; i < function->parameter_count; i++)
        intake->live_bytes += array_values_bytes(&values[i]);
    array_values_release(values, function->parameter_count);
    return error;
}

static Error *make_batch(Intake *intake) {
    const BatchOptions options = job_policy_batch_options(intake->wanted->policy);
    TRY(batch_create(
        intake->outline, intake->function, intake->wanted->inout_inputs, &options, &intake->batch));
    return check_first_run(intake);
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
        .live_bytes = intake->live_bytes,
        .state = wanted->suspended ? JOB_STATE_SUSPENDED : JOB_STATE_NONE,
        .job = {.model = wanted->model,
            .executable = intake->executable,
            .key = wanted->key,
            .priority = wanted->priority,
            .release = wanted->release,
            .items_total = batch_item_count(intake->batch),
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
    TRY(find_model(node->settings, intake));
    TRY(store_inputs(node->store, node->pool, intake));
    TRY(make_batch(intake));
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
    array_list_deinit(intake->inout_inputs);
    return error;
}
