#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "store/contents/job_content_internal.h"
#include "store/jobs/job_removals.h"
#include "store/jobs/jobs.h"
#include "store/jobs/jobs_internal.h"
#include "store/database/row_costs.h"
#include "store/accounts/tenants_internal.h"
#include "store/jobs/arrivals.h"
#include "store/jobs/job_events_internal.h"
#include "store/jobs/job_row_internal.h"

static Error *check_restore(const JobRestore *restore) {
    const JobSubmission *job = &restore->job;
    if (job->key) FAIL(INVALID, "a job from a file has no key");
    if (job->items_total >= 0 ? restore->items_done > job->items_total : restore->items_done > 0)
        FAIL(INVALID, "%lld items done, the job has %lld", (long long)restore->items_done,
            (long long)job->items_total);
    if (restore->checkpoint_outputs < 0 ||
        (uint64_t)restore->checkpoint_outputs > restore->output_count)
        FAIL(INVALID, "a checkpoint behind %lld outputs, there are %zu",
            (long long)restore->checkpoint_outputs, restore->output_count);
    if (restore->items_done < 0) FAIL(INVALID, "%lld items done", (long long)restore->items_done);
    if (!restore->checkpoint && (restore->items_done > 0 || restore->checkpoint_outputs > 0))
        FAIL(INVALID, "items or outputs of a job that has no checkpoint");
    return NULL;
}

/* A file without a confirmation gives its job once, too. The error names the job that came from
 * it. */
static Error *check_given(Connection *catalog, TenantId tenant, const JobRestore *restore) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_FIND_JOB_BY_FILE);
    query_bind_i64(&query, 1, tenant);
    query_bind_job_id(&query, 2, restore->id);
    query_bind_i64(&query, 4, restore->job.origin.epoch);
    bool found;
    JobId id;
    char name[JOB_ID_TEXT_SIZE], given[JOB_ID_TEXT_SIZE];
    TRY(query_next(&query, &found));
    if (!found) return NULL;
    TRY(query_job_id(&query, 0, &id));
    job_id_print(restore->id, name);
    job_id_print(id, given);
    FAIL(CONFLICT, "job %s is here already, as %s; a file gives its job once", name, given);
}

/* Decides about a job of which the tenant has no tombstone. Without a confirmation of another node,
 * refusals are the same as for ids that do not exist. */
static Error *check_unknown(Connection *catalog, TenantId tenant, const JobRestore *restore,
    bool is_taken, bool *out_keeps_id) {
    NodeNumbers home;
    char name[JOB_ID_TEXT_SIZE];
    job_id_print(restore->id, name);
    TRY(jobs_read_numbers(catalog, &home));
    /* this home would have a tombstone: the file is forged, or an old copy of the home is
     * running */
    if (restore->id.node == home.node)
        FAIL(CONFLICT, "no job %s of this tenant went from this home", name);
    if (!restore->arrival) TRY(check_given(catalog, tenant, restore));
    if (restore->vouched && is_taken) FAIL(CONFLICT, "job %s was taken over already", name);
    *out_keeps_id = restore->vouched;
    return NULL;
}

/* Decides whether a job keeps its id. It does if the tenant has its tombstone of an older epoch, or
 * if another node confirms that the job is the tenant's. */
static Error *check_take_over(Connection *catalog, TenantId tenant, const JobRestore *restore,
    bool *out_keeps_id, bool *out_tombstone, Job *out) {
    TenantId owner = tenant;
    bool is_taken;
    char name[JOB_ID_TEXT_SIZE];
    job_id_print(restore->id, name);
    TRY(job_row_read_tenant(catalog, restore->id, &is_taken, &owner));
    *out_keeps_id = *out_tombstone = is_taken && owner == tenant;
    if (!*out_tombstone) return check_unknown(catalog, tenant, restore, is_taken, out_keeps_id);
    TRY(job_row_read(catalog, tenant, restore->id, out));
    const JobStateInfo *info = job_state_info(out->state);
    if (info->class_ != JOB_STATE_CLASS_TOMBSTONE)
        FAIL(CONFLICT, "job %s is here already, and %s; a file gives its job once", name,
            info->name);
    if (out->epoch >= restore->job.epoch)
        FAIL(CONFLICT, "job %s went on since from a newer file; this one is of epoch %lld", name,
            (long long)restore->job.epoch - 1);
    return NULL;
}

static Error *add_contents(Connection *catalog, const JobRestore *restore, Job *job) {
    uint64_t raw = 0;
    TRY(job_content_insert(
        catalog, job->tenant, job->row, JOB_CONTENT_INPUTS, 0, NULL, restore->job.inputs));
    job->bytes_stored = restore->job.inputs->bytes_stored + ROW_COST_JOB;
    for (size_t i = 0; i < restore->output_count; i++) {
        TRY(job_content_insert(catalog, job->tenant, job->row, JOB_CONTENT_OUTPUT, (int64_t)i, NULL,
            &restore->outputs[i]));
        job->bytes_stored += restore->outputs[i].bytes_stored;
        raw += restore->outputs[i].bytes_raw;
    }
    if (restore->checkpoint) {
        JobContentMarks marks = {restore->items_done, restore->checkpoint_outputs};
        job->checkpoint_last++;
        TRY(job_content_insert(catalog, job->tenant, job->row, JOB_CONTENT_CHECKPOINT,
            job->checkpoint_last, &marks, restore->checkpoint));
        job->bytes_stored += restore->checkpoint->bytes_stored;
        job->checkpoint_created = clock_real().calendar_s(clock_real().self);
    }
    TRY(tenants_charge_outputs(catalog, job->tenant, raw));
    return tenants_charge(catalog, job->tenant, job->bytes_stored);
}

/* Deletes everything of the departed job except its name, its events and the count of its
 * checkpoints. */
static Error *clear_tombstone(Connection *catalog, const Job *tombstone) {
    bool busy;
    TRY(job_removals_find(catalog, tombstone->row, &busy));
    if (busy) FAIL(EXHAUSTED, "what the job left here is still being deleted; try again");
    int64_t raw, checkpoints;
    {
        Query OWN_QUERY(count) = query_start(catalog, STATEMENT_COUNT_CHECKPOINTS);
        query_bind_i64(&count, 1, tombstone->row);
        TRY(query_find_i64(&count, &busy, &checkpoints));
    }
    TRY(tenants_count_checkpoints(catalog, tombstone->tenant, -checkpoints));
    {
        Query OWN_QUERY(sum) = query_start(catalog, STATEMENT_SUM_OUTPUTS);
        query_bind_i64(&sum, 1, tombstone->row);
        TRY(query_find_i64(&sum, &busy, &raw));
    }
    TRY(tenants_discharge_outputs(catalog, tombstone->tenant, (uint64_t)raw));
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_DROP_CONTENTS);
    query_bind_i64(&query, 1, tombstone->row);
    TRY(query_run(&query));
    /* the departure is confirmed: the job comes back, so the other node did own it */
    Query OWN_QUERY(settle) = query_start(catalog, STATEMENT_SETTLE_DEPARTURE);
    query_bind_i64(&settle, 1, tombstone->row);
    query_bind_i64(&settle, 2, tombstone->epoch);
    TRY(query_run(&settle));
    return tenants_discharge(catalog, tombstone->tenant, tombstone->bytes_stored);
}

static Error *make_row(Connection *catalog, TenantId tenant, const JobRestore *restore, Job *job) {
    bool keeps_id, tombstone = false;
    Job before = {0};
    if (restore->id.number == 0)
        TRY(jobs_take_id(catalog, &job->row, &job->id));
    else {
        TRY(check_take_over(catalog, tenant, restore, &keeps_id, &tombstone, &before));
        if (!tombstone) TRY(jobs_take_id(catalog, &job->row, &job->id));
        if (keeps_id) job->id = restore->id;
    }
    if (restore->arrival)
        TRY(arrivals_note_prepared(catalog, restore->arrival, tombstone ? &before : NULL));
    if (!tombstone) return jobs_insert_new(catalog, job, &restore->job);
    TRY(clear_tombstone(catalog, &before));
    job->row = before.row;
    job->event_count = before.event_count;
    job->checkpoint_last = before.checkpoint_last;
    return jobs_replace(catalog, job, &restore->job);
}

Error *jobs_restore(
    Connection *catalog, TenantId tenant, const JobRestore *restore, JobId *out_id) {
    Job job;
    TRY(check_restore(restore));
    TRY(jobs_make(tenant, &restore->job, &job));
    TRY(make_row(catalog, tenant, restore, &job));
    job.items_done = restore->items_done;
    job.output_count = job.outputs_visible = (int64_t)restore->output_count;
    TRY(add_contents(catalog, restore, &job));
    char name[JOB_ID_TEXT_SIZE], why[JOB_WHY_SIZE];
    job_id_print(job.origin.job, name);
    if (restore->arrival)
        (void)snprintf(why, sizeof why,
            "arrived with epoch %lld, attempt %lld; waits for the other node's word",
            (long long)job.epoch, (long long)restore->arrival->attempt);
    else if (restore->id.number && job_id_equal(job.id, restore->id))
        (void)snprintf(why, sizeof why, "taken over from a file, epoch %lld", (long long)job.epoch);
    else if (restore->id.number)
        (void)snprintf(why, sizeof why,
            "restored from a file that says it owned job %s; nobody here knows: a new name", name);
    else
        (void)snprintf(why, sizeof why, "restored from a file with a copy of job %s", name);
    TRY(job_events_add(catalog, &job, JOB_EVENT_STATE, 0, job.outputs_visible, why));
    TRY(job_row_write(catalog, &job));
    *out_id = job.id;
    return NULL;
}
