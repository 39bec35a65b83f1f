#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "store/job_checkpoints_internal.h"
#include "store/job_content_internal.h"
#include "store/jobs.h"
#include "store/jobs_internal.h"
#include "store/tenants_internal.h"

/* Rows of contents: from one job to the other, under their numbers. */
static Error *copy_contents(Connection *catalog, const Job *from, Job *inout_to,
    JobContentKind kind, int64_t begin, int64_t end, uint64_t *inout_raw) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_COPY_CONTENTS);
    query_bind_i64(&query, 1, inout_to->row);
    query_bind_i64(&query, 2, from->row);
    query_bind_i64(&query, 3, kind);
    query_bind_i64(&query, 4, begin);
    query_bind_i64(&query, 5, end);
    for (;;) {
        bool row;
        uint64_t bytes, raw;
        TRY(query_next(&query, &row));
        if (!row) return NULL;
        TRY(query_size(&query, 0, &bytes));
        TRY(query_size(&query, 1, &raw));
        inout_to->bytes_stored += bytes;
        *inout_raw += raw;
    }
}

static Error *copy_lists(Connection *catalog, const Job *from, const Job *to) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_COPY_CONTENT_LISTS);
    query_bind_i64(&query, 1, to->row);
    query_bind_i64(&query, 2, from->row);
    return query_run(&query);
}

static Error *copy_all(
    Connection *catalog, const Job *from, const JobCheckpoint *checkpoint, Job *inout_to) {
    uint64_t raw = 0, other = 0; /* outputs unpacked, and what nobody asks for */
    TRY(copy_contents(catalog, from, inout_to, JOB_CONTENT_INPUTS, 0, 1, &other));
    TRY(copy_contents(catalog, from, inout_to, JOB_CONTENT_OUTPUT, 0, checkpoint->outputs, &raw));
    TRY(copy_contents(catalog, from, inout_to, JOB_CONTENT_CHECKPOINT, checkpoint->number,
        checkpoint->number + 1, &other));
    TRY(tenants_count_checkpoints(catalog, inout_to->tenant, 1));
    TRY(copy_lists(catalog, from, inout_to));
    TRY(tenants_charge_outputs(catalog, inout_to->tenant, raw));
    return tenants_charge(catalog, inout_to->tenant, inout_to->bytes_stored);
}

static Error *find_executable(Connection *catalog, const Job *job, int64_t *out_row) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_FIND_EXECUTABLE);
    query_bind_i64(&query, 1, job->tenant);
    query_bind_digest(&query, 2, &job->executable);
    bool found;
    TRY(query_find_i64(&query, &found, out_row));
    if (!found) FAIL(CORRUPT, "catalog.db: a job's executable is gone; run fsck");
    return NULL;
}

Error *jobs_find_origin(Connection *catalog, const Job *job, int64_t number, const char *verb,
    JobCheckpoint *out_checkpoint) {
    if (job_state_info(job->state)->class_ == JOB_STATE_CLASS_TOMBSTONE) {
        char name[JOB_ID_TEXT_SIZE];
        job_id_print(job->id, name);
        FAIL(CONFLICT, "job %s is %s; it is %s where it went", name,
            job_state_info(job->state)->name, verb);
    }
    return job_checkpoints_need(catalog, job, number, out_checkpoint);
}

Error *jobs_make_fork(
    Connection *catalog, const Job *from, const JobCheckpoint *checkpoint, Job *out) {
    Job job = *from;
    TRY(jobs_take_id(catalog, &job.row, &job.id));
    job.state = JOB_STATE_QUEUED;
    job.items_done = checkpoint->items_done;
    job.output_count = job.outputs_visible = checkpoint->outputs;
    job.checkpoint_last = checkpoint->number;
    job.event_count = 0;
    job.bytes_stored = 0;
    job.submitted = clock_real().calendar_s(clock_real().self);
    job.started = job.finished = NAN;
    job.checkpoint_created = checkpoint->created;
    job.device_seconds = 0;
    job.attempt = 0;
    job.migrating[0] = 0;
    job.device[0] = 0;
    job.origin = (JobOrigin){JOB_ORIGIN_FORK, from->id, from->epoch};
    job.epoch = 0;
    *out = job;
    return NULL;
}

Error *jobs_insert_fork(Connection *catalog, const Job *from, const JobCheckpoint *checkpoint,
    const JobSubmission *submission, const char *why, Job *inout_job) {
    int64_t executable;
    TRY(find_executable(catalog, from, &executable));
    TRY(jobs_insert(catalog, inout_job, executable, submission));
    TRY(copy_all(catalog, from, checkpoint, inout_job));
    TRY(job_events_add(catalog, inout_job, JOB_EVENT_STATE, 0, inout_job->outputs_visible, why));
    return jobs_write(catalog, inout_job);
}

Error *jobs_fork(
    Connection *catalog, TenantId tenant, JobId id, int64_t checkpoint, JobId *out_id) {
    Job from, job;
    JobCheckpoint found;
    ByteWriter OWN_BYTES(policy) = {0};
    char name[JOB_ID_TEXT_SIZE], why[JOB_WHY_SIZE];
    TRY(jobs_read(catalog, tenant, id, &from));
    TRY(jobs_find_origin(catalog, &from, checkpoint, "forked", &found));
    TRY(jobs_read_policy(catalog, &from, &policy));
    TRY(jobs_make_fork(catalog, &from, &found, &job));
    job_id_print(id, name);
    (void)snprintf(
        why, sizeof why, "forked from job %s, checkpoint %lld", name, (long long)found.number);
    JobSubmission submission = {.policy = policy.data, .policy_size = policy.size};
    TRY(jobs_insert_fork(catalog, &from, &found, &submission, why, &job));
    *out_id = job.id;
    return NULL;
}
