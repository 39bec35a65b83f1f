#include "store/jobs/jobs_damaged.h"

#include <stdio.h>

#include "store/jobs/jobs_internal.h"
#include "store/accounts/tenants_internal.h"
#include "store/jobs/job_row_internal.h"

Error *jobs_list_places(Store *store, JobState state, int64_t after,
    JobPlace out_places[JOB_PLACES_MAX], size_t *out_count) {
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_LIST_JOB_PLACES);
    query_bind_i64(&query, 1, state);
    query_bind_i64(&query, 2, after);
    query_bind_i64(&query, 3, JOB_PLACES_MAX);
    for (size_t count = 0;; count++) {
        bool row;
        TRY(query_next(&query, &row));
        *out_count = count;
        if (!row) return NULL;
        TRY(query_i64(&query, 0, &out_places[count].row));
        /* reading the row reports a damaged tenant */
        out_places[count].tenant = query_any_i64(&query, 1, 0);
    }
}

static Error *read_at(Connection *catalog, int64_t row, Job *out_job) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_JOB_AT);
    query_bind_i64(&query, 1, row);
    bool found;
    TRY(query_next(&query, &found));
    if (!found) FAIL(NOT_FOUND, "no job in row %lld", (long long)row);
    return job_row_read_columns(&query, out_job);
}

Error *jobs_get_at(Store *store, int64_t row, Job *out_job) {
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    return read_at(catalog, row, out_job);
}

static Error *read_name(Store *store, int64_t row, bool *out_found, JobId *out_id) {
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_JOB_NAME);
    query_bind_i64(&query, 1, row);
    TRY(query_next(&query, out_found));
    return *out_found ? query_job_id(&query, 0, out_id) : NULL;
}

void jobs_name_at(Store *store, int64_t row, char out[JOB_ID_TEXT_SIZE]) {
    bool found = false;
    JobId id;
    Error *error = read_name(store, row, &found, &id);
    if (!error && found)
        job_id_print(id, out);
    else
        (void)snprintf(out, JOB_ID_TEXT_SIZE, "of row %lld", (long long)row);
    error_free(error); /* the place is a name, too */
}

Error *jobs_hold(Connection *catalog, int64_t row, const char *why) {
    Job job;
    TRY(read_at(catalog, row, &job));
    if (job.state == JOB_STATE_HELD) return NULL;
    TRY(jobs_enter_state(catalog, &job, JOB_STATE_HELD, why));
    return job_row_write(catalog, &job);
}

static Error *find_row(Connection *catalog, TenantId tenant, JobId id, int64_t *out_row) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_FIND_JOB_ROW);
    query_bind_job_id(&query, 1, id);
    query_bind_i64(&query, 3, tenant);
    bool found;
    char name[JOB_ID_TEXT_SIZE];
    TRY(query_find_i64(&query, &found, out_row));
    if (found) return NULL;
    job_id_print(id, name);
    FAIL(NOT_FOUND, "no job %s", name);
}

Error *jobs_remove_damaged(Connection *catalog, TenantId tenant, JobId id) {
    int64_t row;
    Job job;
    char name[JOB_ID_TEXT_SIZE];
    TRY(find_row(catalog, tenant, id, &row));
    Error *error = read_at(catalog, row, &job);
    if (!error) {
        job_id_print(id, name);
        FAIL(CONFLICT, "job %s is not damaged", name);
    }
    if (error_code(error) != ERROR_CORRUPT) return error;
    error_free(error); /* the damaged row is deleted */
    {
        Query OWN_QUERY(query) = query_start(catalog, STATEMENT_DELETE_JOB);
        query_bind_i64(&query, 1, row);
        TRY(query_run(&query));
    }
    return tenants_recount(catalog, tenant);
}
