#include "store/jobs/damaged_migrations.h"

#include "store/jobs/jobs_damaged.h"
#include "store/jobs/jobs_internal.h"

static const StatementId lists[DAMAGED_KIND_COUNT] = {
    [DAMAGED_DEPARTURE] = STATEMENT_LIST_DAMAGED_DEPARTURES,
    [DAMAGED_ARRIVAL] = STATEMENT_LIST_DAMAGED_ARRIVALS,
    [DAMAGED_VERIFICATION] = STATEMENT_LIST_DAMAGED_VERIFICATIONS,
};

static DamagedRow read_row(const Query *query, DamagedKind kind) {
    const int64_t state = query_any_i64(query, 1, JOB_STATE_NONE);
    return (DamagedRow){.kind = kind,
        .job = query_any_i64(query, 0, 0),
        .state = job_state_exists(state) ? (JobState)state : JOB_STATE_NONE,
        .id = {(uint64_t)query_any_i64(query, 2, 0), (uint64_t)query_any_i64(query, 3, 0)}};
}

static Error *list(Connection *catalog, StatementId statement, DamagedKind kind, int64_t after,
    DamagedRow out_rows[DAMAGED_ROWS_MAX], size_t *out_count) {
    Query OWN_QUERY(query) = query_start(catalog, statement);
    query_bind_i64(&query, 1, after);
    query_bind_i64(&query, 2, DAMAGED_ROWS_MAX);
    for (*out_count = 0;; ++*out_count) {
        bool found;
        TRY(query_next(&query, &found));
        if (!found) return NULL;
        out_rows[*out_count] = read_row(&query, kind);
    }
}

Error *damaged_migrations_list(Connection *catalog, DamagedKind kind, int64_t after,
    DamagedRow out_rows[DAMAGED_ROWS_MAX], size_t *out_count) {
    return list(catalog, lists[kind], kind, after, out_rows, out_count);
}

/* ---- start ---- */

/* A job whose own row cannot be read does not run either way. */
static Error *hold(Connection *catalog, int64_t job, const char *why) {
    Error *error = jobs_hold(catalog, job, why);
    if (error_code(error) != ERROR_CORRUPT) return error;
    error_free(error); /* the recovery of jobs reports the damage */
    return NULL;
}

static bool waits(JobState state) {
    return state == JOB_STATE_QUEUED || state == JOB_STATE_SUSPENDED || state == JOB_STATE_IN_DOUBT;
}

static Error *hold_all(Connection *catalog, StatementId statement, const char *why) {
    DamagedRow rows[DAMAGED_ROWS_MAX];
    size_t count = DAMAGED_ROWS_MAX;
    for (int64_t after = 0; count == DAMAGED_ROWS_MAX; after = rows[count - 1].job) {
        TRY(list(catalog, statement, DAMAGED_DEPARTURE, after, rows, &count));
        for (size_t i = 0; i < count; i++)
            if (waits(rows[i].state)) TRY(hold(catalog, rows[i].job, why));
        if (count == 0) return NULL;
    }
    return NULL;
}

Error *damaged_migrations_hold(Connection *catalog) {
    TRY(hold_all(catalog, STATEMENT_LIST_DAMAGED_DEPARTURES,
        "what is written of its migration cannot be read: `layover resume` runs it here, if it "
        "does not run on the other node"));
    return hold_all(catalog, STATEMENT_LIST_DOUBTFUL_JOBS,
        "what is written of its way here cannot be read: `layover resume` runs it here, if it does "
        "not run on the node that it came from");
}

/* ---- repair ---- */

static Error *run_on(Connection *catalog, StatementId statement, int64_t value) {
    Query OWN_QUERY(query) = query_start(catalog, statement);
    query_bind_i64(&query, 1, value);
    return query_run(&query);
}

/* Restores the row from the job, which has its attempt and the node's name. */
static Error *restore_moved(Connection *catalog, const DamagedRow *row, bool *out_repaired) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_RESTORE_DEPARTURE);
    query_bind_i64(&query, 1, row->job);
    return query_insert_new(&query, out_repaired);
}

static bool is_free(const DamagedRow *row) {
    const bool ended = row->state != JOB_STATE_NONE && !job_state_is_unfinished(row->state);
    if (row->kind == DAMAGED_DEPARTURE) return ended;
    return row->job == 0 || ended || row->state == JOB_STATE_QUEUED ||
           row->state == JOB_STATE_SUSPENDED || row->state == JOB_STATE_HELD;
}

Error *damaged_migrations_repair(Connection *catalog, const DamagedRow *row, bool *out_repaired) {
    *out_repaired = true;
    if (row->kind == DAMAGED_VERIFICATION)
        return run_on(catalog, STATEMENT_DELETE_VERIFICATION, row->job);
    if (row->kind == DAMAGED_DEPARTURE && row->state == JOB_STATE_MOVED)
        return restore_moved(catalog, row, out_repaired);
    *out_repaired = is_free(row);
    if (!*out_repaired) return NULL;
    if (row->kind == DAMAGED_DEPARTURE)
        return run_on(catalog, STATEMENT_DROP_DAMAGED_DEPARTURES, row->job);
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_DROP_DAMAGED_ARRIVAL);
    query_bind_job_id(&query, 1, row->id);
    return query_run(&query);
}
