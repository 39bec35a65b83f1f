#include "store/jobs/job_row_internal.h"

Error *job_row_absent(JobId id) {
    char name[JOB_ID_TEXT_SIZE];
    job_id_print(id, name);
    FAIL(NOT_FOUND, "no job %s", name);
}

/* Reads a number below count, such as an enum's. */
static Error *read_number(const Query *query, int column, int64_t count, int64_t *out) {
    TRY(query_i64(query, column, out));
    if (*out < 0 || *out >= count)
        FAIL(CORRUPT, "catalog.db: column %s holds an unknown number; run fsck",
            sqlite3_column_name(query->statement, column));
    return NULL;
}

static Error *read_counts(const Query *query, Job *out) {
    out->items_total = -1;
    if (!query_is_null(query, 7)) TRY(query_i64(query, 7, &out->items_total));
    TRY(query_i64(query, 8, &out->items_done));
    TRY(query_i64(query, 9, &out->output_count));
    TRY(query_i64(query, 10, &out->outputs_visible));
    TRY(query_i64(query, 11, &out->checkpoint_last));
    TRY(query_i64(query, 12, &out->event_count));
    return query_size(query, 13, &out->bytes_stored);
}

static Error *read_times(const Query *query, Job *out) {
    TRY(query_f64(query, 14, &out->submitted));
    TRY(query_optional_f64(query, 15, &out->started));
    TRY(query_optional_f64(query, 16, &out->finished));
    TRY(query_optional_f64(query, 17, &out->deadline));
    TRY(query_optional_f64(query, 18, &out->checkpoint_created));
    return query_f64(query, 19, &out->device_seconds);
}

static Error *read_origin(const Query *query, JobOrigin *out) {
    int64_t kind;
    TRY(read_number(query, 24, JOB_ORIGIN_RELEASE + 1, &kind));
    *out = (JobOrigin){.kind = (JobOriginKind)kind};
    if (kind == JOB_ORIGIN_SUBMITTED) return NULL;
    TRY(query_job_id(query, 25, &out->job));
    return query_i64(query, 27, &out->epoch);
}

Error *job_row_read_columns(const Query *query, Job *out) {
    int64_t state, priority, release;
    out->damaged = false;
    TRY(query_i64(query, 0, &out->row));
    TRY(query_i64(query, 1, &out->tenant));
    TRY(query_job_id(query, 2, &out->id));
    TRY(read_number(query, 4, JOB_STATE_COUNT, &state));
    TRY(read_number(query, 5, 256, &priority));
    TRY(read_number(query, 6, JOB_RELEASE_CHECKPOINT + 1, &release));
    if (!job_state_exists(state) || release == 0)
        FAIL(CORRUPT, "catalog.db: a job in an unknown state; run fsck");
    out->state = (JobState)state;
    out->priority = (int)priority;
    out->release = (JobRelease)release;
    TRY(read_counts(query, out));
    TRY(read_times(query, out));
    TRY(query_i64(query, 20, &out->epoch));
    TRY(query_i64(query, 21, &out->attempt));
    out->migrating[0] = 0;
    if (!query_is_null(query, 22))
        TRY(query_text(query, 22, out->migrating, sizeof out->migrating));
    TRY(query_digest(query, 23, &out->executable));
    TRY(read_origin(query, &out->origin));
    TRY(query_text(query, 28, out->model, sizeof out->model));
    return query_text(query, 29, out->device, sizeof out->device);
}

Error *job_row_read(Connection *catalog, TenantId tenant, JobId id, Job *out_job) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_JOB);
    query_bind_job_id(&query, 1, id);
    query_bind_i64(&query, 3, tenant);
    bool row;
    TRY(query_next(&query, &row));
    return row ? job_row_read_columns(&query, out_job) : job_row_absent(id);
}

Error *job_row_read_unfinished(Connection *catalog, TenantId tenant, JobId id, Job *out_job) {
    Job job;
    TRY(job_row_read(catalog, tenant, id, &job));
    const JobStateInfo *info = job_state_info(job.state);
    if (info->class_ != JOB_STATE_CLASS_UNFINISHED) {
        char name[JOB_ID_TEXT_SIZE];
        job_id_print(id, name);
        FAIL(CONFLICT, "job %s is %s; it does not change any more", name, info->name);
    }
    *out_job = job;
    return NULL;
}

Error *job_row_read_policy(Connection *catalog, const Job *job, ByteWriter *inout_policy) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_JOB_POLICY);
    query_bind_i64(&query, 1, job->row);
    bool row;
    const uint8_t *data;
    size_t size;
    TRY(query_next(&query, &row));
    if (!row) return job_row_absent(job->id);
    TRY(query_blob(&query, 0, &data, &size));
    inout_policy->size = 0;
    byte_write_bytes(inout_policy, data, size);
    return byte_writer_check(inout_policy);
}

Error *job_row_read_tenant(Connection *catalog, JobId id, bool *out_found, TenantId *out_tenant) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_FIND_JOB_TENANT);
    query_bind_job_id(&query, 1, id);
    return query_find_i64(&query, out_found, out_tenant);
}

Error *job_row_write(Connection *catalog, const Job *job) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_WRITE_JOB);
    query_bind_i64(&query, 1, job->row);
    query_bind_i64(&query, 2, job->state);
    query_bind_i64(&query, 3, job->items_done);
    query_bind_i64(&query, 4, job->output_count);
    query_bind_i64(&query, 5, job->outputs_visible);
    query_bind_i64(&query, 6, job->checkpoint_last);
    query_bind_i64(&query, 7, job->event_count);
    query_bind_i64(&query, 8, (int64_t)job->bytes_stored);
    query_bind_optional_f64(&query, 9, job->started);
    query_bind_optional_f64(&query, 10, job->finished);
    query_bind_optional_f64(&query, 11, job->checkpoint_created);
    query_bind_f64(&query, 12, job->device_seconds);
    query_bind_i64(&query, 13, job->attempt);
    if (job->migrating[0]) query_bind_text(&query, 14, job->migrating);
    query_bind_text(&query, 15, job->device);
    return query_run(&query);
}

Error *job_row_advance(Job *inout_job, int64_t items_done) {
    if (inout_job->items_total >= 0 && items_done > inout_job->items_total)
        FAIL(INVALID, "%lld items done, the job has %lld", (long long)items_done,
            (long long)inout_job->items_total);
    if (items_done > inout_job->items_done) inout_job->items_done = items_done;
    return NULL;
}

Error *job_row_set_epoch(Connection *catalog, Job *inout_job, int64_t epoch) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_SET_JOB_EPOCH);
    query_bind_i64(&query, 1, inout_job->row);
    query_bind_i64(&query, 2, epoch);
    inout_job->epoch = epoch;
    return query_run(&query);
}
