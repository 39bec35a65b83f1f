#include "store/upkeep/removals.h"

#include "store/jobs/job_copy_internal.h"
#include "store/jobs/job_removals.h"
#include "store/models/model_removals.h"
#include "store/database/removal_steps.h"
#include "store/database/transaction.h"

/* On a full disk a transaction has no more room than the log. */
enum { STEP_ROWS_FULL = 16 };

typedef struct Removed {
    StatementId find;
    /* True while a marked row is still being made. NULL: rows of this kind are marked only for
     * removal. */
    bool (*is_new)(const Store *store, int64_t row);
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

static Error *run_step(
    Store *store, const Removed *removed, int64_t row, uint64_t rows, bool *out_left) {
    Transaction OWN_TRANSACTION(transaction) = {0};
    TRY(transaction_begin(store, DATABASE_CATALOG, &transaction));
    *out_left = removed->is_new && removed->is_new(store, row);
    if (*out_left) return NULL;
    transaction.frees = true;
    TRY(removed->step(transaction.connection, row, &rows));
    return transaction_commit(&transaction);
}

/* Leaves alone a job that is still being made. A damaged row does not keep the rows behind it from
 * being deleted. inout_error: the error of the first damaged row. */
static Error *run_all(
    Store *store, const Removed *removed, const atomic_bool *stop, Error **inout_error) {
    uint64_t rows = REMOVAL_STEP_ROWS;
    for (int64_t after = 0; !atomic_load(stop);) {
        bool found, left = false;
        int64_t row;
        TRY(find_next(store, removed->find, after, &found, &row));
        if (!found) break;
        Error *error = run_step(store, removed, row, rows, &left);
        if (left) after = row;
        if (!error) continue;
        if (error_code(error) == ERROR_EXHAUSTED && rows != STEP_ROWS_FULL) {
            error_free(error); /* tries again in smaller steps */
            rows = STEP_ROWS_FULL;
            continue;
        }
        if (error_code(error) != ERROR_CORRUPT) return error;
        after = row;
        if (*inout_error)
            error_free(error); /* only the first error is returned */
        else
            *inout_error = error;
    }
    return NULL;
}

Error *removals_run(Store *store, const atomic_bool *stop) {
    static const Removed jobs = {STATEMENT_FIND_JOB_REMOVAL, job_copy_has, job_removals_step},
                         models = {STATEMENT_FIND_MODEL_REMOVAL, NULL, model_removals_step};
    Error *damaged = NULL;
    Error *error = run_all(store, &jobs, stop, &damaged);
    if (!error) error = run_all(store, &models, stop, &damaged);
    if (!error) return damaged;
    error_free(damaged); /* the other error is returned */
    return error;
}
