#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "store/contents/job_content_internal.h"
#include "store/jobs/jobs.h"
#include "store/jobs/jobs_internal.h"
#include "store/database/row_costs.h"
#include "store/accounts/tenants_internal.h"
#include "store/jobs/job_events_internal.h"

static Error *check_submission(const JobSubmission *submission) {
    size_t key_size = submission->key ? strlen(submission->key) : 1;
    if (key_size < 1 || key_size >= JOB_KEY_SIZE)
        FAIL(INVALID, "a job's key has 1 to %d bytes, not %zu", JOB_KEY_SIZE - 1, key_size);
    if (strlen(submission->model) >= MODEL_REFERENCE_SIZE)
        FAIL(INVALID, "model \"%.80s\": the reference is too long", submission->model);
    if (submission->policy_size > JOB_POLICY_SIZE_MAX)
        FAIL(INVALID, "a job's policy of %zu bytes, at most %d are stored", submission->policy_size,
            JOB_POLICY_SIZE_MAX);
    if (submission->priority < 0 || submission->priority > 255)
        FAIL(INVALID, "a job's priority can't be %d", submission->priority);
    if (submission->items_total < -1)
        FAIL(INVALID, "a job can't have %lld items", (long long)submission->items_total);
    if (submission->state != JOB_STATE_NONE && !job_state_is_unfinished(submission->state))
        FAIL(INVALID, "a job can't begin %s", job_state_info(submission->state)->name);
    return NULL;
}

/* Finds the job that was submitted with this key, if there is one. */
static Error *find_by_key(Connection *catalog, TenantId tenant, const JobSubmission *submission,
    bool *out_found, JobId *out_id) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_FIND_JOB_BY_KEY);
    query_bind_i64(&query, 1, tenant);
    query_bind_text(&query, 2, submission->key);
    JobId id;
    Digest request;
    TRY(query_next(&query, out_found));
    if (!*out_found) return NULL;
    TRY(query_job_id(&query, 0, &id));
    TRY(query_digest(&query, 2, &request));
    if (!digest_equal(&request, &submission->request)) {
        char name[JOB_ID_TEXT_SIZE];
        job_id_print(id, name);
        FAIL(CONFLICT, "key %s stands for job %s, which was submitted with other content",
            submission->key, name);
    }
    *out_id = id;
    return NULL;
}

static Error *find_executable(
    Connection *catalog, TenantId tenant, const Digest *identity, int64_t *out_row) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_FIND_EXECUTABLE);
    query_bind_i64(&query, 1, tenant);
    query_bind_digest(&query, 2, identity);
    bool found;
    TRY(query_find_i64(&query, &found, out_row));
    if (!found) {
        char name[DIGEST_TEXT_SIZE];
        digest_print(identity, name);
        FAIL(NOT_FOUND, "executable %s is not in the store; register or import its model", name);
    }
    return NULL;
}

Error *jobs_read_numbers(Connection *catalog, NodeNumbers *out_numbers) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_JOB_NUMBER);
    bool row;
    TRY(query_next(&query, &row));
    if (!row) FAIL(CORRUPT, "catalog.db: the home's own row is gone; run fsck");
    TRY(query_i64(&query, 0, &out_numbers->last_job));
    return query_size(&query, 1, &out_numbers->node);
}

Error *jobs_take_id(Connection *catalog, int64_t *out_row, JobId *out_id) {
    NodeNumbers numbers;
    TRY(query_run_alone(catalog, STATEMENT_TAKE_JOB_NUMBER));
    TRY(jobs_read_numbers(catalog, &numbers));
    *out_row = numbers.last_job;
    *out_id = (JobId){numbers.node, (uint64_t)numbers.last_job};
    return NULL;
}

static void bind_job(Query *query, const Job *job) {
    query_bind_i64(query, 1, job->row);
    query_bind_i64(query, 2, job->tenant);
    query_bind_job_id(query, 3, job->id);
    query_bind_i64(query, 5, job->state);
    query_bind_i64(query, 6, job->priority);
    query_bind_i64(query, 7, job->release);
    if (job->items_total >= 0) query_bind_i64(query, 8, job->items_total);
    query_bind_i64(query, 9, job->items_done);
    query_bind_i64(query, 10, job->output_count);
    query_bind_i64(query, 11, job->outputs_visible);
    query_bind_i64(query, 12, job->checkpoint_last);
    query_bind_i64(query, 13, job->event_count);
    query_bind_i64(query, 14, (int64_t)job->bytes_stored);
    query_bind_f64(query, 15, job->submitted);
    query_bind_optional_f64(query, 16, job->started);
    query_bind_optional_f64(query, 17, job->finished);
    query_bind_optional_f64(query, 18, job->deadline);
    query_bind_optional_f64(query, 19, job->checkpoint_created);
    query_bind_f64(query, 20, job->device_seconds);
    query_bind_i64(query, 21, job->epoch);
    query_bind_i64(query, 22, job->attempt);
    query_bind_digest(query, 24, &job->executable);
    query_bind_i64(query, 25, job->origin.kind);
    if (job->origin.kind != JOB_ORIGIN_SUBMITTED) {
        query_bind_job_id(query, 26, job->origin.job);
        query_bind_i64(query, 28, job->origin.epoch);
    }
    query_bind_text(query, 29, job->model);
    query_bind_text(query, 30, job->device);
}

/* statement: INSERT_JOB, or REPLACE_JOB with the same parameters. */
static Error *write_row(Connection *catalog, StatementId statement, const Job *job,
    int64_t executable, const JobSubmission *submission) {
    Query OWN_QUERY(query) = query_start(catalog, statement);
    bind_job(&query, job);
    query_bind_i64(&query, 31, executable);
    if (submission->key) query_bind_text(&query, 32, submission->key);
    query_bind_digest(&query, 33, &submission->request);
    query_bind_blob(
        &query, 34, submission->policy_size ? submission->policy : "", submission->policy_size);
    return query_run(&query);
}

/* Checks the quotas on resting jobs and on checkpoints: the job may rest and will have checkpoints.
 */
static Error *check_place(Connection *catalog, TenantId tenant) {
    TRY(tenants_check_resting(catalog, tenant));
    return tenants_check_checkpoints(catalog, tenant);
}

Error *jobs_insert(
    Connection *catalog, const Job *job, int64_t executable, const JobSubmission *submission) {
    TRY(check_place(catalog, job->tenant));
    return write_row(catalog, STATEMENT_INSERT_JOB, job, executable, submission);
}

Error *jobs_make(TenantId tenant, const JobSubmission *submission, Job *out_job) {
    TRY(check_submission(submission));
    Job job = {.tenant = tenant,
        .state = submission->state == JOB_STATE_NONE ? JOB_STATE_QUEUED : submission->state,
        .priority = submission->priority,
        .release = submission->release,
        .items_total = submission->items_total,
        .submitted = submission->submitted > 0 ? submission->submitted
                                               : clock_real().calendar_s(clock_real().self),
        .started = NAN,
        .finished = NAN,
        .deadline = submission->deadline,
        .checkpoint_created = NAN,
        .epoch = submission->epoch,
        .executable = submission->executable,
        .origin = submission->origin};
    memcpy(job.model, submission->model, strlen(submission->model) + 1);
    *out_job = job;
    return NULL;
}

Error *jobs_insert_new(Connection *catalog, const Job *job, const JobSubmission *submission) {
    int64_t executable;
    TRY(check_place(catalog, job->tenant));
    TRY(find_executable(catalog, job->tenant, &job->executable, &executable));
    return write_row(catalog, STATEMENT_INSERT_JOB, job, executable, submission);
}

Error *jobs_replace(Connection *catalog, const Job *job, const JobSubmission *submission) {
    int64_t executable;
    TRY(find_executable(catalog, job->tenant, &job->executable, &executable));
    return write_row(catalog, STATEMENT_REPLACE_JOB, job, executable, submission);
}

Error *jobs_submit(Connection *catalog, TenantId tenant, const JobSubmission *submission,
    JobId *out_id, bool *out_created) {
    bool found = false;
    Job job;
    TRY(jobs_make(tenant, submission, &job));
    if (submission->key) TRY(find_by_key(catalog, tenant, submission, &found, out_id));
    if (out_created) *out_created = !found;
    if (found) return NULL;
    TRY(jobs_take_id(catalog, &job.row, &job.id));
    /* The row is inserted with the count of its first event. */
    job.event_count = 1;
    job.bytes_stored = submission->inputs->bytes_stored + ROW_COST_JOB;
    TRY(jobs_insert_new(catalog, &job, submission));
    job.event_count = 0;
    TRY(job_events_add(
        catalog, &job, JOB_EVENT_STATE, 0, 0, submission->why ? submission->why : "submitted"));
    TRY(job_content_insert(
        catalog, tenant, job.row, JOB_CONTENT_INPUTS, 0, NULL, submission->inputs));
    TRY(tenants_charge(catalog, tenant, job.bytes_stored));
    *out_id = job.id;
    return NULL;
}
