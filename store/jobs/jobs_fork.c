#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "store/jobs/job_checkpoints_internal.h"
#include "store/jobs/job_copy_internal.h"
#include "store/jobs/jobs.h"
#include "store/jobs/jobs_internal.h"
#include "store/jobs/job_row_internal.h"

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

static Error *begin(
    Connection *catalog, TenantId tenant, JobId id, int64_t checkpoint, JobCopy *copy) {
    Job from, job;
    JobCheckpoint found;
    ByteWriter OWN_BYTES(policy) = {0};
    TRY(job_row_read(catalog, tenant, id, &from));
    TRY(jobs_find_origin(catalog, &from, checkpoint, "forked", &found));
    TRY(job_row_read_policy(catalog, &from, &policy));
    TRY(jobs_make_fork(catalog, &from, &found, &job));
    JobSubmission submission = {.policy = policy.data, .policy_size = policy.size};
    return job_copy_begin(catalog, &from, &found, &job, &submission, copy);
}

Error *jobs_fork(
    Connection *catalog, TenantId tenant, JobId id, int64_t checkpoint, JobCopy *inout_copy) {
    char name[JOB_ID_TEXT_SIZE], why[JOB_WHY_SIZE];
    if (job_copy_has_begun(inout_copy))
        TRY(job_copy_step(catalog, inout_copy));
    else
        TRY(begin(catalog, tenant, id, checkpoint, inout_copy));
    if (!job_copy_is_whole(inout_copy)) return NULL;
    job_id_print(id, name);
    (void)snprintf(why, sizeof why, "forked from job %s, checkpoint %lld", name,
        (long long)inout_copy->checkpoint.number);
    return job_copy_finish(catalog, why, inout_copy);
}
