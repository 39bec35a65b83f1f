#include "store/jobs/jobs.h"

#include <math.h>
#include <string.h>

#include "base/allocator.h"
#include "store/jobs/jobs_internal.h"

void job_list_release(JobList *list) {
    if (!list) return;
    memory_free(list->items);
    memory_free(list);
}

static Error *fail_no_job(JobId id) {
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

static Error *read_id(const Query *query, int column, JobId *out) {
    TRY(query_size(query, column, &out->node));
    return query_size(query, column + 1, &out->number);
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
    TRY(read_id(query, 25, &out->job));
    return query_i64(query, 27, &out->epoch);
}

Error *jobs_read_row(const Query *query, Job *out) {
    int64_t state, priority, release;
    out->damaged = false;
    TRY(query_i64(query, 0, &out->row));
    TRY(query_i64(query, 1, &out->tenant));
    TRY(read_id(query, 2, &out->id));
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

Error *jobs_read(Connection *catalog, TenantId tenant, JobId id, Job *out_job) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_JOB);
    query_bind_job_id(&query, 1, id);
    query_bind_i64(&query, 3, tenant);
    bool row;
    TRY(query_next(&query, &row));
    return row ? jobs_read_row(&query, out_job) : fail_no_job(id);
}

Error *jobs_get(Store *store, TenantId tenant, JobId id, Job *out_job) {
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    return jobs_read(catalog, tenant, id, out_job);
}

Error *jobs_read_unfinished(Connection *catalog, TenantId tenant, JobId id, Job *out_job) {
    Job job;
    TRY(jobs_read(catalog, tenant, id, &job));
    const JobStateInfo *info = job_state_info(job.state);
    if (info->class_ != JOB_STATE_CLASS_UNFINISHED) {
        char name[JOB_ID_TEXT_SIZE];
        job_id_print(id, name);
        FAIL(CONFLICT, "job %s is %s; it does not change any more", name, info->name);
    }
    *out_job = job;
    return NULL;
}

Error *jobs_get_policy(Store *store, TenantId tenant, JobId id, ByteWriter *inout_policy) {
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    Job job;
    TRY(jobs_read(catalog, tenant, id, &job));
    return jobs_read_policy(catalog, &job, inout_policy);
}

Error *jobs_read_policy(Connection *catalog, const Job *job, ByteWriter *inout_policy) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_JOB_POLICY);
    query_bind_i64(&query, 1, job->row);
    bool row;
    const uint8_t *data;
    size_t size;
    TRY(query_next(&query, &row));
    if (!row) return fail_no_job(job->id);
    TRY(query_blob(&query, 0, &data, &size));
    inout_policy->size = 0;
    byte_write_bytes(inout_policy, data, size);
    return byte_writer_check(inout_policy);
}

Error *jobs_read_tenant(Connection *catalog, JobId id, bool *out_found, TenantId *out_tenant) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_FIND_JOB_TENANT);
    query_bind_job_id(&query, 1, id);
    return query_find_i64(&query, out_found, out_tenant);
}

Error *jobs_find_tenant(Store *store, JobId id, TenantId *out_tenant) {
    OWN(Connection, catalog) = NULL;
    bool found;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    TRY(jobs_read_tenant(catalog, id, &found, out_tenant));
    return found ? NULL : fail_no_job(id);
}

static StatementId choose_list(TenantId tenant, JobState state) {
    if (tenant == JOBS_OF_ALL_TENANTS) return STATEMENT_LIST_ALL_JOBS;
    bool unfinished = state != JOB_STATE_NONE && job_state_is_unfinished(state);
    return unfinished ? STATEMENT_LIST_UNFINISHED_JOBS : STATEMENT_LIST_JOBS;
}

/* A damaged row does not hide the other jobs. The list then has only the job's place and id, and
 * the job does not run. */
static Error *read_listed(const Query *query, Job *out) {
    Error *error = jobs_read_row(query, out);
    if (error_code(error) != ERROR_CORRUPT) return error;
    error_free(error); /* jobs_get reports the damage */
    *out = (Job){.damaged = true,
        .state = JOB_STATE_HELD,
        .release = JOB_RELEASE_LOG,
        .items_total = -1,
        .submitted = NAN,
        .started = NAN,
        .finished = NAN,
        .deadline = NAN,
        .checkpoint_created = NAN};
    TRY(query_i64(query, 0, &out->row));
    TRY(query_i64(query, 1, &out->tenant));
    return read_id(query, 2, &out->id);
}

Error *jobs_list(Store *store, TenantId tenant, JobState state, int64_t after, size_t count_max,
    JobList **out_list) {
    OWN(JobList, list) = NULL;
    TRY(memory_alloc(1, sizeof *list, (void **)&list));
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    Query OWN_QUERY(query) = query_start(catalog, choose_list(tenant, state));
    if (tenant != JOBS_OF_ALL_TENANTS) query_bind_i64(&query, 1, tenant);
    query_bind_i64(&query, 2, after);
    query_bind_i64(&query, 3, state);
    query_bind_i64(&query, 4, (int64_t)(count_max < JOBS_LISTED_MAX ? count_max : JOBS_LISTED_MAX));
    size_t capacity = 0;
    for (;;) {
        bool row;
        TRY(query_next(&query, &row));
        if (!row) break;
        TRY(memory_grow((void **)&list->items, list->count, &capacity, sizeof *list->items));
        TRY(read_listed(&query, &list->items[list->count]));
        list->count++;
    }
    *out_list = TAKE(list);
    return NULL;
}
