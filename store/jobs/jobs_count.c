#include "store/jobs/jobs.h"
#include "store/jobs/jobs_internal.h"

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
