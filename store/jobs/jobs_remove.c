#include "store/database/alive_time.h"
#include "store/jobs/job_removals.h"
#include "store/jobs/jobs.h"
#include "store/jobs/jobs_internal.h"
#include "store/database/removal_steps.h"
#include "store/accounts/tenants_internal.h"
#include "store/jobs/job_row_internal.h"

/* Deletes a job with all rows that refer to it: small ones at once, the rest in steps. */
static Error *delete_job(Connection *catalog, const Job *job, uint64_t *inout_rows) {
    TRY(job_removals_mark(catalog, job, true));
    return job_removals_step(catalog, job->row, inout_rows);
}

Error *jobs_delete(Connection *catalog, const Job *job) {
    uint64_t rows = REMOVAL_STEP_ROWS;
    return delete_job(catalog, job, &rows);
}

Error *jobs_remove(Connection *catalog, TenantId tenant, JobId id) {
    Job job;
    TRY(job_row_read(catalog, tenant, id, &job));
    const JobStateInfo *info = job_state_info(job.state);
    if (info->class_ != JOB_STATE_CLASS_FINISHED) {
        char name[JOB_ID_TEXT_SIZE];
        job_id_print(id, name);
        FAIL(CONFLICT, "job %s is %s; %s", name, info->name,
            info->class_ == JOB_STATE_CLASS_UNFINISHED ? "cancel it first"
                                                       : "what stays of it says where it went");
    }
    return jobs_delete(catalog, &job);
}

Error *jobs_clear(Connection *catalog, Job *inout_job) {
    Job *job = inout_job;
    uint64_t rows = REMOVAL_STEP_ROWS;
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_DROP_JOB_EXECUTABLE);
    query_bind_i64(&query, 1, job->row);
    TRY(query_run(&query));
    TRY(job_removals_mark(catalog, job, false));
    job->bytes_stored = 0;
    return job_removals_step(catalog, job->row, &rows);
}

Error *jobs_drop_contents(Connection *catalog, TenantId tenant, JobId id) {
    Job job;
    TRY(job_row_read(catalog, tenant, id, &job));
    const JobStateInfo *info = job_state_info(job.state);
    if (info->class_ != JOB_STATE_CLASS_TOMBSTONE) {
        char name[JOB_ID_TEXT_SIZE];
        job_id_print(id, name);
        FAIL(CONFLICT, "job %s is %s; its data is still needed here", name, info->name);
    }
    TRY(jobs_clear(catalog, &job));
    return job_row_write(catalog, &job);
}

enum { EXPIRED_AT_ONCE = 16 };

/* Collected first: deleting under a running list lets SQLite skip rows. */
static Error *list_expired(Connection *catalog, TenantId tenant, double last_stamp,
    size_t count_max, Job *out_jobs, size_t *out_count) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_LIST_EXPIRED_JOBS);
    query_bind_i64(&query, 1, tenant);
    query_bind_f64(&query, 2, last_stamp);
    const size_t last = count_max < EXPIRED_AT_ONCE ? count_max : EXPIRED_AT_ONCE;
    for (*out_count = 0; *out_count < last;) {
        bool row;
        TRY(query_next(&query, &row));
        if (!row) return NULL;
        Error *error = job_row_read_columns(&query, &out_jobs[*out_count]);
        if (error && error_code(error) != ERROR_CORRUPT) return error;
        *out_count += error == NULL;
        error_free(error); /* fsck names the row */
    }
    return NULL;
}

Error *jobs_expire(
    Connection *catalog, TenantId tenant, double alive_s, size_t count_max, size_t *out_count) {
    Job jobs[EXPIRED_AT_ONCE];
    int64_t retention_s;
    size_t count, total = 0;
    uint64_t rows = REMOVAL_STEP_ROWS; /* for all jobs together */
    TRY(tenants_read_retention(catalog, tenant, &retention_s));
    double last_stamp = alive_s - (double)retention_s;
    if (retention_s > 0) last_stamp -= ALIVE_TIME_STEP_S; /* a stamp may be too early */
    do {
        TRY(list_expired(catalog, tenant, last_stamp, count_max - total, jobs, &count));
        for (size_t i = 0; i < count; i++) TRY(delete_job(catalog, &jobs[i], &rows));
        total += count;
    } while (count == EXPIRED_AT_ONCE && total < count_max);
    *out_count = total;
    return NULL;
}
