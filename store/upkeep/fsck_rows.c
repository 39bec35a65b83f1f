#include "store/jobs/damaged_migrations.h"
#include "store/upkeep/fsck_internal.h"
#include "store/jobs/jobs_damaged.h"
#include "store/jobs/jobs_internal.h"
#include "store/accounts/tenants_internal.h"
#include "store/database/transaction.h"

/* ---- tenants ---- */

static Error *repair_tenant(Fsck *fsck, TenantId tenant) {
    Transaction OWN_TRANSACTION(transaction) = {0};
    TRY(transaction_begin(fsck->store, DATABASE_CATALOG, &transaction));
    TRY(tenants_repair(transaction.connection, tenant));
    return transaction_commit(&transaction);
}

static Error *check_tenant(Fsck *fsck, const Tenant *tenant) {
    Error *error = NULL;
    if (fsck->options->repair) {
        error = repair_tenant(fsck, tenant->id);
        if (!error) fsck->result->repaired += tenant->damage[0] != 0;
    }
    if (error || (tenant->damage[0] && !fsck->options->repair))
        TRY(fsck_note(fsck,
            error ? error_wrap(error, "tenant %s", tenant->name)
                  : error_make(ERROR_CORRUPT, __FILE__, __LINE__,
                        "catalog.db: tenant %s: %s makes no sense, the default counts; `layover "
                        "fsck --repair` removes it",
                        tenant->name, tenant->damage)));
    return NULL;
}

static Error *check_tenants(Fsck *fsck) {
    OWN(TenantList, tenants) = NULL;
    Error *error = tenants_list(fsck->store, &tenants);
    if (error) return fsck_note(fsck, error);
    for (size_t i = 0; i < tenants->count; i++) TRY(check_tenant(fsck, &tenants->items[i]));
    return NULL;
}

/* ---- jobs ---- */

static Error *find_after(Store *store, int64_t after, bool *out_found, int64_t *out_row) {
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_FIND_JOB_AFTER);
    query_bind_i64(&query, 1, after);
    return query_find_i64(&query, out_found, out_row);
}

static Error *check_executable(Fsck *fsck, const Job *job) {
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(fsck->store, DATABASE_CATALOG, &catalog));
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_FIND_JOB_EXECUTABLE);
    query_bind_i64(&query, 1, job->row);
    bool found;
    int64_t executable;
    TRY(query_find_i64(&query, &found, &executable));
    if (!found) FAIL(CORRUPT, "catalog.db: its executable is not the one that it names");
    return NULL;
}

static Error *check_policy(Fsck *fsck, const Job *job) {
    ByteWriter OWN_BYTES(policy) = {0};
    const FsckOptions *options = fsck->options;
    if (!job_state_is_unfinished(job->state)) return NULL;
    TRY(check_executable(fsck, job));
    if (!options->check_policy) return NULL;
    TRY(jobs_get_policy(fsck->store, job->tenant, job->id, &policy));
    return options->check_policy(options->check_manifest_context, policy.data, policy.size);
}

static Error *check_job(Fsck *fsck, int64_t row) {
    Job job;
    char name[JOB_ID_TEXT_SIZE];
    Error *error = jobs_get_at(fsck->store, row, &job);
    if (error_code(error) == ERROR_NOT_FOUND) {
        error_free(error); /* removed during the check */
        return NULL;
    }
    const bool read = !error;
    if (read) error = check_policy(fsck, &job);
    if (!error) return NULL;
    jobs_name_at(fsck->store, row, name);
    return fsck_note(fsck, error_wrap(error,
                               read ? "job %s does not run; `layover cancel` and `rm-job` remove it"
                                    : "job %s does not run; `layover rm-job` removes it",
                               name));
}

static Error *check_jobs(Fsck *fsck) {
    for (int64_t row = 0;;) {
        bool found;
        Error *error = find_after(fsck->store, row, &found, &row);
        if (error) return fsck_note(fsck, error); /* the table can't be read any further */
        if (!found) return NULL;
        TRY(check_job(fsck, row));
    }
}

/* ---- migrations and verifications ---- */

static const char *const damaged_texts[DAMAGED_KIND_COUNT] = {
    [DAMAGED_DEPARTURE] =
        ("what is written of its migration cannot be read: the next start of a "
         "daemon holds it, then `layover resume` runs it here, if it does not run "
         "on the other node, and `cancel` ends it; of one that has ended or moved "
         "`layover fsck --repair` restores what is known"),
    [DAMAGED_ARRIVAL] = ("what is written of its way here cannot be read: the next start of a "
                         "daemon holds it, if it is in doubt; else `layover fsck --repair` forgets "
                         "the offer"),
    [DAMAGED_VERIFICATION] = ("what it verifies cannot be read; `layover fsck --repair` makes it a "
                              "job like others, which `cancel` and `rm-job` remove"),
};

static Error *repair_damaged(Fsck *fsck, const DamagedRow *row, bool *out_repaired) {
    *out_repaired = false;
    if (!fsck->options->repair) return NULL;
    Transaction OWN_TRANSACTION(transaction) = {0};
    TRY(transaction_begin(fsck->store, DATABASE_CATALOG, &transaction));
    TRY(damaged_migrations_repair(transaction.connection, row, out_repaired));
    return transaction_commit(&transaction);
}

static Error *check_damaged_row(Fsck *fsck, const DamagedRow *row) {
    bool repaired;
    char name[JOB_ID_TEXT_SIZE];
    Error *error = repair_damaged(fsck, row, &repaired);
    if (!error && repaired) fsck->result->repaired++;
    if (!error && repaired) return NULL;
    if (!error)
        error = error_make(
            ERROR_CORRUPT, __FILE__, __LINE__, "catalog.db: %s", damaged_texts[row->kind]);
    job_id_print(row->id, name);
    return fsck_note(fsck, error_wrap(error, "job %s", name));
}

static Error *list_damaged(
    Fsck *fsck, DamagedKind kind, DamagedRow rows[DAMAGED_ROWS_MAX], size_t *out_count) {
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(fsck->store, DATABASE_CATALOG, &catalog));
    return damaged_migrations_list(catalog, kind, 0, rows, out_count);
}

/* Reports the first DAMAGED_ROWS_MAX rows of each kind; the next fsck, after a repair, shows
 * more. */
static Error *check_damaged(Fsck *fsck) {
    DamagedRow rows[DAMAGED_ROWS_MAX];
    for (int kind = 0; kind < DAMAGED_KIND_COUNT; kind++) {
        size_t count;
        Error *error = list_damaged(fsck, (DamagedKind)kind, rows, &count);
        if (error) return fsck_note(fsck, error);
        for (size_t i = 0; i < count; i++) TRY(check_damaged_row(fsck, &rows[i]));
    }
    return NULL;
}

Error *fsck_check_rows(Fsck *fsck) {
    TRY(check_tenants(fsck));
    TRY(check_jobs(fsck));
    return check_damaged(fsck);
}
