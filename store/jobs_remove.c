#include "store/jobs.h"
#include "store/jobs_internal.h"
#include "store/tenants_internal.h"

/* With all that refers to it. */
static Error *delete_job(Connection *catalog, TenantId tenant, int64_t row, uint64_t bytes_stored) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_DELETE_JOB);
    query_bind_i64(&query, 1, row);
    TRY(query_run(&query));
    return tenants_discharge(catalog, tenant, bytes_stored);
}

Error *jobs_delete(Connection *catalog, const Job *job) {
    return delete_job(catalog, job->tenant, job->row, job->bytes_stored);
}

Error *jobs_remove(Connection *catalog, TenantId tenant, JobId id) {
    Job job;
    TRY(jobs_read(catalog, tenant, id, &job));
    const JobStateInfo *info = job_state_info(job.state);
    if (info->class_ != JOB_STATE_CLASS_FINISHED) {
        char name[JOB_ID_TEXT_SIZE];
        job_id_print(id, name);
        FAIL(CONFLICT, "job %s is %s; %s", name, info->name,
            info->class_ == JOB_STATE_CLASS_UNFINISHED ? "cancel it first"
                                                       : "what stays of it says where it went");
    }
    return delete_job(catalog, tenant, job.row, job.bytes_stored);
}

static Error *run_on_row(Connection *catalog, StatementId id, int64_t row) {
    Query OWN_QUERY(query) = query_start(catalog, id);
    query_bind_i64(&query, 1, row);
    return query_run(&query);
}

Error *jobs_clear(Connection *catalog, Job *inout_job) {
    Job *job = inout_job;
    TRY(run_on_row(catalog, STATEMENT_DROP_CONTENTS, job->row));
    TRY(run_on_row(catalog, STATEMENT_DROP_JOB_EXECUTABLE, job->row));
    TRY(tenants_discharge(catalog, job->tenant, job->bytes_stored));
    job->bytes_stored = 0;
    return NULL;
}

Error *jobs_drop_contents(Connection *catalog, TenantId tenant, JobId id) {
    Job job;
    TRY(jobs_read(catalog, tenant, id, &job));
    const JobStateInfo *info = job_state_info(job.state);
    if (info->class_ != JOB_STATE_CLASS_TOMBSTONE) {
        char name[JOB_ID_TEXT_SIZE];
        job_id_print(id, name);
        FAIL(CONFLICT, "job %s is %s; its data is still needed here", name, info->name);
    }
    TRY(jobs_clear(catalog, &job));
    return jobs_write(catalog, &job);
}

enum { EXPIRED_AT_ONCE = 64 };

typedef struct ExpiredJob {
    int64_t row;
    uint64_t bytes_stored;
} ExpiredJob;

/* Collected first: deleting under a running list lets SQLite skip rows. */
static Error *list_expired(Connection *catalog, TenantId tenant, double before, size_t count_max,
    ExpiredJob *out_jobs, size_t *out_count) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_LIST_EXPIRED_JOBS);
    query_bind_i64(&query, 1, tenant);
    query_bind_f64(&query, 2, before);
    query_bind_i64(&query, 3, (int64_t)(count_max < EXPIRED_AT_ONCE ? count_max : EXPIRED_AT_ONCE));
    for (size_t count = 0;; count++) {
        bool row;
        TRY(query_next(&query, &row));
        if (!row) {
            *out_count = count;
            return NULL;
        }
        TRY(query_i64(&query, 0, &out_jobs[count].row));
        TRY(query_size(&query, 1, &out_jobs[count].bytes_stored));
    }
}

Error *jobs_expire(
    Connection *catalog, TenantId tenant, double now, size_t count_max, size_t *out_count) {
    ExpiredJob jobs[EXPIRED_AT_ONCE];
    int64_t retention_s;
    size_t count, total = 0;
    TRY(tenants_read_retention(catalog, tenant, &retention_s));
    do {
        TRY(list_expired(
            catalog, tenant, now - (double)retention_s, count_max - total, jobs, &count));
        for (size_t i = 0; i < count; i++)
            TRY(delete_job(catalog, tenant, jobs[i].row, jobs[i].bytes_stored));
        total += count;
    } while (count == EXPIRED_AT_ONCE && total < count_max);
    *out_count = total;
    return NULL;
}
