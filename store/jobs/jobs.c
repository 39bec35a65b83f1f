#include "store/jobs/jobs.h"

#include <math.h>
#include <string.h>

#include "base/allocator.h"
#include "store/jobs/jobs_internal.h"
#include "store/jobs/job_row_internal.h"

void job_list_release(JobList *list) {
    if (!list) return;
    memory_free(list->items);
    memory_free(list);
}

Error *jobs_get(Store *store, TenantId tenant, JobId id, Job *out_job) {
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    return job_row_read(catalog, tenant, id, out_job);
}

Error *jobs_get_policy(Store *store, TenantId tenant, JobId id, ByteWriter *inout_policy) {
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    Job job;
    TRY(job_row_read(catalog, tenant, id, &job));
    return job_row_read_policy(catalog, &job, inout_policy);
}

Error *jobs_find_tenant(Store *store, JobId id, TenantId *out_tenant) {
    OWN(Connection, catalog) = NULL;
    bool found;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    TRY(job_row_read_tenant(catalog, id, &found, out_tenant));
    return found ? NULL : job_row_absent(id);
}

static StatementId choose_list(TenantId tenant, JobState state) {
    if (tenant == JOBS_OF_ALL_TENANTS) return STATEMENT_LIST_ALL_JOBS;
    bool unfinished = state != JOB_STATE_NONE && job_state_is_unfinished(state);
    return unfinished ? STATEMENT_LIST_UNFINISHED_JOBS : STATEMENT_LIST_JOBS;
}

/* A damaged row does not hide the other jobs. The list then has only the job's place and id, and
 * the job does not run. */
static Error *read_listed(const Query *query, Job *out) {
    Error *error = job_row_read_columns(query, out);
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
    return query_job_id(query, 2, &out->id);
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

Error *jobs_count(Store *store, size_t out_counts[JOB_STATE_COUNT]) {
    OWN(Connection, catalog) = NULL;
    size_t counts[JOB_STATE_COUNT] = {0};
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_COUNT_JOBS);
    for (;;) {
        bool row;
        int64_t state;
        TRY(query_next(&query, &row));
        if (!row) break;
        TRY(query_i64(&query, 0, &state));
        if (!job_state_exists(state))
            FAIL(CORRUPT, "catalog.db: a job has the state %lld; run fsck", (long long)state);
        TRY(query_size(&query, 1, &counts[state]));
    }
    for (int i = 0; i < JOB_STATE_COUNT; i++) out_counts[i] = counts[i];
    return NULL;
}
