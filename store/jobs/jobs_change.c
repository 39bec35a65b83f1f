#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "store/jobs/jobs.h"
#include "store/jobs/jobs_internal.h"
#include "store/jobs/arrivals.h"
#include "store/jobs/departures.h"
#include "store/jobs/job_checkpoints_internal.h"
#include "store/jobs/job_events_internal.h"
#include "store/jobs/job_outputs_internal.h"
#include "store/jobs/job_row_internal.h"

static Error *fail_transition(const Job *job, JobState state) {
    char name[JOB_ID_TEXT_SIZE];
    job_id_print(job->id, name);
    FAIL(CONFLICT, "job %s is %s; it can't become %s", name, job_state_info(job->state)->name,
        job_state_info(state)->name);
}

Error *jobs_enter_state(Connection *catalog, Job *inout_job, JobState state, const char *why) {
    Job *job = inout_job;
    JobState before = job->state;
    if (!job_state_allows(before, state)) return fail_transition(job, state);
    job->state = state;
    int64_t begin = job->outputs_visible;
    if (!job_state_is_unfinished(state)) {
        /* The job has ended, so no replay will change its outputs: all of them become visible. */
        job->outputs_visible = job->output_count;
        job->finished = clock_real().calendar_s(clock_real().self);
    }
    TRY(departures_follow(catalog, job, before));
    TRY(arrivals_follow(catalog, job, before));
    return job_events_add(catalog, job, JOB_EVENT_STATE, begin, job->outputs_visible, why);
}

Error *jobs_transition(
    Connection *catalog, TenantId tenant, JobId id, JobState state, const char *why) {
    Job job;
    TRY(job_row_read(catalog, tenant, id, &job));
    TRY(jobs_enter_state(catalog, &job, state, why));
    return job_row_write(catalog, &job);
}

static Error *set_progress(Job *job, const JobProgress *progress) {
    TRY(job_row_advance(job, progress->items_done));
    if (!isnan(progress->device_seconds)) job->device_seconds = progress->device_seconds;
    if (!isnan(progress->started)) job->started = progress->started;
    if (progress->device) {
        size_t size = strlen(progress->device) + 1;
        if (size > sizeof job->device)
            FAIL(INVALID, "device \"%.80s\": the name is too long", progress->device);
        memcpy(job->device, progress->device, size);
    }
    return NULL;
}

Error *jobs_set_progress(
    Connection *catalog, TenantId tenant, JobId id, const JobProgress *progress) {
    Job job;
    TRY(job_row_read_unfinished(catalog, tenant, id, &job));
    TRY(set_progress(&job, progress));
    return job_row_write(catalog, &job);
}

/* Refuses writes of a node that no longer owns the job. */
static Error *check_epoch(const Job *job, int64_t epoch) {
    char name[JOB_ID_TEXT_SIZE];
    if (job->epoch == epoch) return NULL;
    job_id_print(job->id, name);
    FAIL(CONFLICT, "job %s is in epoch %lld, not %lld: it was taken over", name,
        (long long)job->epoch, (long long)epoch);
}

Error *jobs_apply(Connection *catalog, TenantId tenant, JobId id, const JobChanges *changes) {
    Job job;
    JobOutputsResult result = {0};
    TRY(job_row_read_unfinished(catalog, tenant, id, &job));
    TRY(check_epoch(&job, changes->epoch));
    if (changes->output_count > 0)
        TRY(job_outputs_append(catalog, &job, changes->first_output, changes->outputs,
            changes->output_count, &result));
    TRY(set_progress(&job, &changes->progress));
    if (changes->checkpoint)
        TRY(job_checkpoints_append(catalog, &job, changes->checkpoint, changes->checkpoint_items,
            changes->checkpoint_outputs, changes->checkpoints_kept));
    for (const JobTelling *telling = changes->tellings; telling; telling = telling->next)
        TRY(job_events_add(catalog, &job, telling->kind, 0, 0, telling->why));
    if (changes->state != JOB_STATE_NONE)
        TRY(jobs_enter_state(catalog, &job, changes->state, changes->why));
    if (changes->new_epoch) TRY(job_row_set_epoch(catalog, &job, changes->new_epoch));
    return job_row_write(catalog, &job);
}

Error *jobs_set_device_seconds(
    Connection *catalog, TenantId tenant, JobId id, double device_seconds) {
    Job job;
    TRY(job_row_read(catalog, tenant, id, &job));
    if (device_seconds > job.device_seconds) job.device_seconds = device_seconds;
    return job_row_write(catalog, &job);
}

Error *jobs_add_note(Connection *catalog, TenantId tenant, JobId id, const char *why) {
    Job job;
    TRY(job_row_read(catalog, tenant, id, &job));
    TRY(job_events_add(catalog, &job, JOB_EVENT_NOTE, 0, 0, why));
    return job_row_write(catalog, &job);
}
