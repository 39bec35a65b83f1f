#include "store/removals_internal.h"

#include "store/chunk_lists.h"
#include "store/tenants_internal.h"
#include "store/transaction.h"

/* On a full disk a transaction has no more room than the log. */
enum { STEP_ROWS_FULL = 16 };

/* A row's bytes beyond these cost as much as another row. */
enum { BYTES_OF_A_ROW = 64 << 10 };

static Error *run_on(Connection *catalog, StatementId id, int64_t row) {
    Query OWN_QUERY(query) = query_start(catalog, id);
    query_bind_i64(&query, 1, row);
    return query_run(&query);
}

/* Runs one that deletes up to *inout_rows rows of one table. */
static Error *delete_some(Connection *catalog, StatementId id, int64_t row, uint64_t *inout_rows) {
    if (*inout_rows == 0) return NULL;
    Query OWN_QUERY(query) = query_start(catalog, id);
    query_bind_i64(&query, 1, row);
    query_bind_i64(&query, 2, (int64_t)*inout_rows);
    TRY(query_run(&query));
    *inout_rows -= (uint64_t)sqlite3_changes(catalog->handle);
    return NULL;
}

/* ---- jobs ---- */

typedef struct JobRemoval {
    int64_t job;
    TenantId tenant;
    bool whole;
} JobRemoval;

static Error *read_removal(Connection *catalog, int64_t job, bool *out_found, JobRemoval *out) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_JOB_REMOVAL);
    query_bind_i64(&query, 1, job);
    TRY(query_next(&query, out_found));
    if (!*out_found) return NULL;
    out->job = job;
    out->tenant = query_any_i64(&query, 0, query_any_i64(&query, 1, 0));
    out->whole = query_any_i64(&query, 2, 1) == 1; /* as HIDE_JOB left it */
    return NULL;
}

Error *removals_find_job(Connection *catalog, int64_t job, bool *out_found) {
    JobRemoval removal;
    return read_removal(catalog, job, out_found, &removal);
}

Error *removals_mark_job(Connection *catalog, const Job *job, bool whole) {
    {
        Query OWN_QUERY(query) = query_start(catalog, STATEMENT_MARK_JOB_REMOVAL);
        query_bind_i64(&query, 1, job->row);
        query_bind_i64(&query, 2, job->tenant);
        query_bind_i64(&query, 3, whole);
        query_bind_i64(&query, 4, (int64_t)job->bytes_stored);
        TRY(query_run(&query));
    }
    if (!whole) return NULL;
    TRY(run_on(catalog, STATEMENT_FORGET_VERIFIED_JOB, job->row));
    TRY(run_on(catalog, STATEMENT_DELETE_VERIFICATION, job->row));
    return run_on(catalog, STATEMENT_HIDE_JOB, job->row);
}

typedef struct DoomedContent {
    int64_t id;
    uint64_t bytes_stored, output_bytes;
    int64_t checkpoints; /* 1: it is one */
} DoomedContent;

/* What is damaged goes as well: fsck counts anew. */
static uint64_t read_size(const Query *query, int column) {
    const int64_t size = query_any_i64(query, column, 0);
    return size > 0 && size < INT64_MAX / REMOVAL_STEP_ROWS ? (uint64_t)size : 0;
}

/* Collected first: deleting under a running list lets SQLite skip rows. Always one, if there is
 * any: a content may cost more than the budget. */
static Error *list_contents(Connection *catalog, int64_t job, uint64_t *inout_rows,
    DoomedContent out[REMOVAL_STEP_ROWS], size_t *out_count) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_LIST_DOOMED_CONTENTS);
    query_bind_i64(&query, 1, job);
    query_bind_i64(&query, 2, REMOVAL_STEP_ROWS);
    for (*out_count = 0; *inout_rows > 0;) {
        bool row;
        TRY(query_next(&query, &row));
        if (!row) return NULL;
        DoomedContent *content = &out[*out_count];
        TRY(query_i64(&query, 0, &content->id));
        content->bytes_stored = read_size(&query, 1);
        content->output_bytes = read_size(&query, 4);
        const uint64_t chunks = read_size(&query, 2), size = read_size(&query, 3);
        content->checkpoints = query_any_i64(&query, 5, 0);
        uint64_t cost = 1 + chunks / CHUNK_LIST_LENGTH_MAX + size / BYTES_OF_A_ROW;
        *inout_rows -= cost < *inout_rows ? cost : *inout_rows;
        ++*out_count;
    }
    return NULL;
}

static Error *delete_contents(
    Connection *catalog, const JobRemoval *removal, uint64_t *inout_rows) {
    DoomedContent contents[REMOVAL_STEP_ROWS];
    size_t count;
    uint64_t bytes = 0, output_bytes = 0;
    int64_t checkpoints = 0;
    TRY(list_contents(catalog, removal->job, inout_rows, contents, &count));
    for (size_t i = 0; i < count; i++) {
        TRY(run_on(catalog, STATEMENT_DELETE_CONTENT, contents[i].id));
        bytes += contents[i].bytes_stored;
        output_bytes += contents[i].output_bytes;
        checkpoints += contents[i].checkpoints;
    }
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_LESSEN_JOB_REMOVAL);
    query_bind_i64(&query, 1, removal->job);
    query_bind_i64(&query, 2, (int64_t)bytes);
    TRY(query_run(&query));
    TRY(tenants_discharge_outputs(catalog, removal->tenant, output_bytes));
    TRY(tenants_count_checkpoints(catalog, removal->tenant, -checkpoints));
    return tenants_discharge(catalog, removal->tenant, bytes);
}

Error *removals_step_job(Connection *catalog, int64_t job, uint64_t *inout_rows) {
    JobRemoval removal;
    bool found;
    TRY(read_removal(catalog, job, &found, &removal));
    if (!found || *inout_rows == 0) return NULL;
    TRY(delete_contents(catalog, &removal, inout_rows));
    /* before the job's own row, which says whom they are given back to */
    if (removal.whole) TRY(delete_some(catalog, STATEMENT_DELETE_SOME_EVENTS, job, inout_rows));
    if (removal.whole) TRY(delete_some(catalog, STATEMENT_DELETE_SOME_DEPARTURES, job, inout_rows));
    if (*inout_rows == 0) return NULL; /* there may be more */
    --*inout_rows;
    return run_on(
        catalog, removal.whole ? STATEMENT_DELETE_JOB : STATEMENT_DELETE_JOB_REMOVAL, job);
}

/* ---- models ---- */

Error *removals_mark_model(Connection *catalog, int64_t model) {
    TRY(run_on(catalog, STATEMENT_MARK_MODEL_REMOVAL, model));
    return run_on(catalog, STATEMENT_HIDE_MODEL, model);
}

/* A version's aliases go first. */
Error *removals_step_model(Connection *catalog, int64_t model, uint64_t *inout_rows) {
    TRY(delete_some(catalog, STATEMENT_DELETE_SOME_ALIASES, model, inout_rows));
    TRY(delete_some(catalog, STATEMENT_DELETE_SOME_VERSIONS, model, inout_rows));
    if (*inout_rows == 0) return NULL; /* there may be more */
    --*inout_rows;
    return run_on(catalog, STATEMENT_DELETE_MODEL, model);
}

/* ---- one after the other ---- */

typedef struct Removed {
    StatementId find;
    Error *(*step)(Connection *catalog, int64_t row, uint64_t *inout_rows);
} Removed;

static Error *find_next(
    Store *store, StatementId find, int64_t after, bool *out_found, int64_t *out_row) {
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    Query OWN_QUERY(query) = query_start(catalog, find);
    query_bind_i64(&query, 1, after);
    return query_find_i64(&query, out_found, out_row);
}

static Error *run_step(Store *store, const Removed *removed, int64_t row, uint64_t rows) {
    Transaction OWN_TRANSACTION(transaction) = {0};
    TRY(transaction_begin(store, DATABASE_CATALOG, &transaction));
    transaction.frees = true;
    TRY(removed->step(transaction.connection, row, &rows));
    return transaction_commit(&transaction);
}

/* A row that cannot be deleted does not keep those behind it. inout_error: what the first one says.
 */
static Error *run_all(
    Store *store, const Removed *removed, const atomic_bool *stop, Error **inout_error) {
    uint64_t rows = REMOVAL_STEP_ROWS;
    for (int64_t after = 0; !atomic_load(stop);) {
        bool found;
        int64_t row;
        TRY(find_next(store, removed->find, after, &found, &row));
        if (!found) break;
        Error *error = run_step(store, removed, row, rows);
        if (!error) continue;
        if (error_code(error) == ERROR_EXHAUSTED && rows != STEP_ROWS_FULL) {
            error_free(error); /* in smaller steps */
            rows = STEP_ROWS_FULL;
            continue;
        }
        if (error_code(error) != ERROR_CORRUPT) return error;
        after = row;
        if (*inout_error)
            error_free(error); /* the first one is told */
        else
            *inout_error = error;
    }
    return NULL;
}

Error *removals_run(Store *store, const atomic_bool *stop) {
    static const Removed jobs = {STATEMENT_FIND_JOB_REMOVAL, removals_step_job},
                         models = {STATEMENT_FIND_MODEL_REMOVAL, removals_step_model};
    Error *damaged = NULL;
    Error *error = run_all(store, &jobs, stop, &damaged);
    if (!error) error = run_all(store, &models, stop, &damaged);
    if (!error) return damaged;
    error_free(damaged); /* the other one ends it */
    return error;
}
