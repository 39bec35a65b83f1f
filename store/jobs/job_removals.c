#include "store/jobs/job_removals.h"

#include "store/contents/job_content_internal.h"
#include "store/database/removal_steps.h"
#include "store/accounts/tenants_internal.h"

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
    out->whole = query_any_i64(&query, 2, 1) == 1; /* the value that HIDE_JOB has set */
    return NULL;
}

Error *job_removals_find(Connection *catalog, int64_t job, bool *out_found) {
    JobRemoval removal;
    return read_removal(catalog, job, out_found, &removal);
}

Error *job_removals_mark(Connection *catalog, const Job *job, bool whole) {
    {
        Query OWN_QUERY(query) = query_start(catalog, STATEMENT_MARK_JOB_REMOVAL);
        query_bind_i64(&query, 1, job->row);
        query_bind_i64(&query, 2, job->tenant);
        query_bind_i64(&query, 3, whole);
        query_bind_i64(&query, 4, (int64_t)job->bytes_stored);
        TRY(query_run(&query));
    }
    if (!whole) return NULL;
    TRY(removal_steps_run(catalog, STATEMENT_FORGET_VERIFIED_JOB, job->row));
    TRY(removal_steps_run(catalog, STATEMENT_DELETE_VERIFICATION, job->row));
    return removal_steps_run(catalog, STATEMENT_HIDE_JOB, job->row);
}

typedef struct DoomedContent {
    int64_t id;
    uint64_t bytes_stored, output_bytes;
    int64_t checkpoints; /* 1 if the content is a checkpoint */
} DoomedContent;

/* Reads a damaged size as 0: damaged rows are deleted, too, and fsck counts anew. */
static uint64_t read_size(const Query *query, int column) {
    const int64_t size = query_any_i64(query, column, 0);
    return size > 0 && size < INT64_MAX / REMOVAL_STEP_ROWS ? (uint64_t)size : 0;
}

/* Collects contents first, as deleting under a running list lets SQLite skip rows. Lists at least
 * one content if any is left, even if that one costs more than the budget. */
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
        uint64_t cost = job_content_rows(chunks, size);
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
        TRY(removal_steps_run(catalog, STATEMENT_DELETE_CONTENT, contents[i].id));
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

Error *job_removals_step(Connection *catalog, int64_t job, uint64_t *inout_rows) {
    JobRemoval removal;
    bool found;
    TRY(read_removal(catalog, job, &found, &removal));
    if (!found || *inout_rows == 0) return NULL;
    TRY(delete_contents(catalog, &removal, inout_rows));
    /* events and departures first: the job's row names the tenant to discharge */
    if (removal.whole)
        TRY(removal_steps_delete(catalog, STATEMENT_DELETE_SOME_EVENTS, job, inout_rows));
    if (removal.whole)
        TRY(removal_steps_delete(catalog, STATEMENT_DELETE_SOME_DEPARTURES, job, inout_rows));
    if (*inout_rows == 0) return NULL; /* rows may be left for the next step */
    --*inout_rows;
    return removal_steps_run(
        catalog, removal.whole ? STATEMENT_DELETE_JOB : STATEMENT_DELETE_JOB_REMOVAL, job);
}
