#include "store/jobs/job_copy_internal.h"

#include "store/contents/job_content_internal.h"
#include "store/jobs/job_removals.h"
#include "store/jobs/jobs_internal.h"
#include "store/accounts/tenants_internal.h"
#include "store/database/transaction.h"
#include "store/jobs/job_events_internal.h"
#include "store/jobs/job_row_internal.h"

/* ---- the store's list, which the catalog's writer guards ---- */

static void link_copy(Store *store, JobCopy *copy) {
    copy->store = store;
    copy->next = store->job_copies;
    store->job_copies = copy;
}

void job_copy_deinit(JobCopy *copy) {
    if (!copy->store) return;
    Transaction OWN_TRANSACTION(lock) = transaction_lock(copy->store, DATABASE_CATALOG);
    for (JobCopy **at = &copy->store->job_copies; *at; at = &(*at)->next) {
        if (*at != copy) continue;
        *at = copy->next;
        break;
    }
    copy->store = NULL;
}

bool job_copy_has(const Store *store, int64_t row) {
    for (const JobCopy *copy = store->job_copies; copy; copy = copy->next)
        if (copy->job.row == row) return true;
    return false;
}

/* ---- rows ---- */

/* Copies rows of contents with their numbers and their lists of chunks. */
static Error *copy_contents(Connection *catalog, JobCopy *copy, JobContentKind kind, int64_t begin,
    int64_t end, uint64_t *out_bytes, uint64_t *out_raw) {
    static const StatementId statements[] = {STATEMENT_COPY_CONTENTS, STATEMENT_COPY_CONTENT_LISTS};
    *out_bytes = *out_raw = 0;
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        Query OWN_QUERY(query) = query_start(catalog, statements[i]);
        query_bind_i64(&query, 1, copy->job.row);
        query_bind_i64(&query, 2, copy->from.row);
        query_bind_i64(&query, 3, kind);
        query_bind_i64(&query, 4, begin);
        query_bind_i64(&query, 5, end);
        for (;;) {
            bool row;
            uint64_t bytes, raw;
            TRY(query_next(&query, &row));
            if (!row) break;
            TRY(query_size(&query, 0, &bytes));
            TRY(query_size(&query, 1, &raw));
            *out_bytes += bytes;
            *out_raw += raw;
        }
    }
    return NULL;
}

static Error *copy_outputs(Connection *catalog, JobCopy *copy, uint64_t *out_bytes) {
    uint64_t raw;
    bool found;
    int64_t last, end = copy->checkpoint.outputs;
    TRY(job_content_find_step(catalog, STATEMENT_LIST_OUTPUT_SIZES, copy->from.row, copy->outputs,
        end, JOB_COPY_STEP_ROWS, &found, &last));
    if (found) end = last + 1;
    TRY(copy_contents(catalog, copy, JOB_CONTENT_OUTPUT, copy->outputs, end, out_bytes, &raw));
    TRY(tenants_charge_outputs(catalog, copy->job.tenant, raw));
    TRY(tenants_charge(catalog, copy->job.tenant, *out_bytes));
    copy->outputs = end;
    copy->job.bytes_stored += *out_bytes;
    return NULL;
}

static Error *copy_beginning(Connection *catalog, JobCopy *copy) {
    const int64_t number = copy->checkpoint.number;
    /* raw: unused, since only outputs are charged by unpacked size */
    uint64_t inputs, checkpoint, raw;
    TRY(copy_contents(catalog, copy, JOB_CONTENT_INPUTS, 0, 1, &inputs, &raw));
    TRY(copy_contents(
        catalog, copy, JOB_CONTENT_CHECKPOINT, number, number + 1, &checkpoint, &raw));
    TRY(tenants_count_checkpoints(catalog, copy->job.tenant, 1));
    TRY(tenants_charge(catalog, copy->job.tenant, inputs + checkpoint));
    copy->job.bytes_stored += inputs + checkpoint;
    return NULL;
}

/* ---- steps ---- */

static Error *find_executable(Connection *catalog, const Job *job, int64_t *out_row) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_FIND_EXECUTABLE);
    query_bind_i64(&query, 1, job->tenant);
    query_bind_digest(&query, 2, &job->executable);
    bool found;
    TRY(query_find_i64(&query, &found, out_row));
    if (!found) FAIL(CORRUPT, "catalog.db: a job's executable is gone; run fsck");
    return NULL;
}

bool job_copy_has_begun(const JobCopy *copy) { return copy->job.row != 0; }

bool job_copy_is_whole(const JobCopy *copy) { return copy->outputs == copy->checkpoint.outputs; }

Error *job_copy_begin(Connection *catalog, const Job *from, const JobCheckpoint *checkpoint,
    const Job *job, const JobSubmission *submission, JobCopy *inout_copy) {
    int64_t executable;
    uint64_t bytes;
    JobCopy *copy = inout_copy;
    copy->from = *from;
    copy->checkpoint = *checkpoint;
    copy->job = *job;
    TRY(find_executable(catalog, from, &executable));
    TRY(jobs_insert(catalog, job, executable, submission));
    TRY(copy_beginning(catalog, copy));
    TRY(copy_outputs(catalog, copy, &bytes));
    if (job_copy_is_whole(copy)) return NULL;
    link_copy(catalog->store, copy);
    return job_removals_mark(catalog, &copy->job, true);
}

/* Checks that the source still has its outputs. NOT_FOUND if the source was removed. */
static Error *check_source(Connection *catalog, const Job *from) {
    Job now;
    TRY(job_row_read(catalog, from->tenant, from->id, &now));
    const bool is_here = job_state_info(now.state)->class_ != JOB_STATE_CLASS_TOMBSTONE;
    if (is_here && now.epoch == from->epoch) return NULL;
    char name[JOB_ID_TEXT_SIZE];
    job_id_print(from->id, name);
    FAIL(
        CONFLICT, "job %s went elsewhere while its outputs were copied; ask where it is now", name);
}

static Error *charge_mark(Connection *catalog, const JobCopy *copy, uint64_t bytes) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_LESSEN_JOB_REMOVAL);
    query_bind_i64(&query, 1, copy->job.row);
    query_bind_i64(&query, 2, -(int64_t)bytes);
    return query_run(&query);
}

/* Removes the mark and restores the columns that HIDE_JOB cleared. */
static Error *show(Connection *catalog, const JobCopy *copy) {
    const Job *job = &copy->job;
    int64_t executable;
    TRY(find_executable(catalog, &copy->from, &executable));
    /* other jobs may have been suspended since the first step */
    TRY(tenants_check_resting(catalog, job->tenant));
    Query OWN_QUERY(mark) = query_start(catalog, STATEMENT_DELETE_JOB_REMOVAL);
    query_bind_i64(&mark, 1, job->row);
    TRY(query_run(&mark));
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_SHOW_JOB);
    query_bind_i64(&query, 1, job->row);
    query_bind_job_id(&query, 2, job->id);
    query_bind_i64(&query, 4, job->state);
    query_bind_i64(&query, 5, executable);
    query_bind_i64(&query, 6, job->origin.kind);
    return query_run(&query);
}

Error *job_copy_step(Connection *catalog, JobCopy *inout_copy) {
    uint64_t bytes;
    TRY(check_source(catalog, &inout_copy->from));
    TRY(copy_outputs(catalog, inout_copy, &bytes));
    return charge_mark(catalog, inout_copy, bytes);
}

Error *job_copy_finish(Connection *catalog, const char *why, JobCopy *inout_copy) {
    Job *job = &inout_copy->job;
    if (inout_copy->store) TRY(show(catalog, inout_copy));
    TRY(job_events_add(catalog, job, JOB_EVENT_STATE, 0, job->outputs_visible, why));
    TRY(job_row_write(catalog, job));
    inout_copy->id = job->id;
    inout_copy->done = true;
    return NULL;
}
