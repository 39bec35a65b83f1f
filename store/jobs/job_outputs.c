#include "store/jobs/job_outputs.h"

#include <stdio.h>

#include "base/allocator.h"
#include "store/jobs/job_checkpoints_internal.h"
#include "store/contents/job_content_internal.h"
#include "store/accounts/tenants_internal.h"
#include "store/jobs/job_events_internal.h"
#include "store/jobs/job_outputs_internal.h"
#include "store/jobs/job_row_internal.h"

void job_output_list_release(JobOutputList *list) {
    if (!list) return;
    memory_free(list->items);
    memory_free(list);
}

static Error *read_digest(Connection *catalog, const Job *job, int64_t sequence, Digest *out) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_CONTENT_DIGEST);
    query_bind_i64(&query, 1, job->row);
    query_bind_i64(&query, 2, JOB_CONTENT_OUTPUT);
    query_bind_i64(&query, 3, sequence);
    bool row;
    TRY(query_next(&query, &row));
    if (!row) FAIL(CORRUPT, "catalog.db: output %lld is gone; run fsck", (long long)sequence);
    return query_digest(&query, 0, out);
}

/* Compares an output that a replay has made again. */
static Error *compare(Connection *catalog, Job *job, int64_t sequence, const JobContent *content,
    JobOutputsResult *result) {
    Digest stored;
    TRY(read_digest(catalog, job, sequence, &stored));
    if (digest_equal(&stored, &content->digest)) {
        result->dropped++;
        return NULL;
    }
    char why[JOB_WHY_SIZE];
    (void)snprintf(why, sizeof why,
        "output %lld came out differently when it was computed again; the first one stays",
        (long long)sequence);
    result->diverged++;
    return job_events_add(catalog, job, JOB_EVENT_DIVERGED, 0, 0, why);
}

static Error *add_one(Connection *catalog, Job *job, int64_t sequence, const JobContent *content,
    JobOutputsResult *result) {
    if (sequence < job->output_count) return compare(catalog, job, sequence, content, result);
    TRY(job_content_insert(
        catalog, job->tenant, job->row, JOB_CONTENT_OUTPUT, sequence, NULL, content));
    TRY(tenants_charge(catalog, job->tenant, content->bytes_stored));
    job->bytes_stored += content->bytes_stored;
    job->output_count++;
    result->added++;
    return NULL;
}

Error *job_outputs_append(Connection *catalog, Job *inout_job, int64_t first,
    const JobContent *contents, size_t count, JobOutputsResult *inout_result) {
    if (first < 0 || first > inout_job->output_count)
        FAIL(INVALID, "output %lld, the next one is %lld", (long long)first,
            (long long)inout_job->output_count);
    uint64_t raw = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t before = inout_job->output_count;
        TRY(add_one(catalog, inout_job, first + (int64_t)i, &contents[i], inout_result));
        if (inout_job->output_count > before) raw += contents[i].bytes_raw;
    }
    TRY(tenants_charge_outputs(catalog, inout_job->tenant, raw));
    int64_t begin = inout_job->outputs_visible, end = inout_job->output_count;
    if (inout_job->release != JOB_RELEASE_LOG || begin == end) return NULL;
    inout_job->outputs_visible = end;
    return job_events_add(catalog, inout_job, JOB_EVENT_OUTPUT, begin, end, NULL);
}

Error *job_outputs_add(Connection *catalog, TenantId tenant, JobId job, int64_t first,
    const JobContent *contents, size_t count, int64_t items_done, JobOutputsResult *out_result) {
    Job row;
    JobOutputsResult result = {0};
    TRY(job_row_read_unfinished(catalog, tenant, job, &row));
    TRY(job_row_advance(&row, items_done));
    TRY(job_outputs_append(catalog, &row, first, contents, count, &result));
    TRY(job_row_write(catalog, &row));
    if (out_result) *out_result = result;
    return NULL;
}

Error *job_outputs_rewind(Connection *catalog, TenantId tenant, JobId job, bool *out_done) {
    Job row;
    int64_t begin;
    bool found;
    uint64_t bytes, raw;
    JobCheckpoint checkpoint = {0};
    TRY(job_row_read_unfinished(catalog, tenant, job, &row));
    *out_done = row.release == JOB_RELEASE_LOG; /* all that is stored is seen */
    if (*out_done) return NULL;
    TRY(job_checkpoints_find(catalog, row.row, 0, &found, &checkpoint));
    row.items_done = found ? checkpoint.items_done : 0;
    TRY(job_content_find_step(catalog, STATEMENT_LIST_OUTPUT_SIZES_BACK, row.row,
        row.outputs_visible, row.output_count, JOB_OUTPUTS_STEP_ROWS, &found, &begin));
    if (!found) begin = row.outputs_visible;
    TRY(job_content_delete(
        catalog, row.row, JOB_CONTENT_OUTPUT, begin, row.output_count, &bytes, &raw));
    row.output_count = begin;
    row.bytes_stored -= bytes;
    TRY(tenants_discharge(catalog, tenant, bytes));
    TRY(tenants_discharge_outputs(catalog, tenant, raw));
    *out_done = begin == row.outputs_visible;
    return job_row_write(catalog, &row);
}

static Error *read_output(const Query *query, JobOutput *out) {
    TRY(query_i64(query, 0, &out->sequence));
    TRY(query_f64(query, 1, &out->created));
    TRY(query_size(query, 4, &out->bytes_raw));
    return query_size(query, 5, &out->bytes_stored);
}

Error *job_outputs_list(
    Store *store, TenantId tenant, JobId job, int64_t begin, JobOutputList **out_list) {
    OWN(JobOutputList, list) = NULL;
    TRY(memory_alloc(1, sizeof *list, (void **)&list));
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    Job row;
    TRY(job_row_read(catalog, tenant, job, &row));
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_LIST_CONTENTS);
    query_bind_i64(&query, 1, row.row);
    query_bind_i64(&query, 2, JOB_CONTENT_OUTPUT);
    query_bind_i64(&query, 3, begin);
    query_bind_i64(&query, 4, row.outputs_visible);
    query_bind_i64(&query, 5, JOB_OUTPUTS_LISTED_MAX);
    size_t capacity = 0;
    for (;;) {
        bool found;
        TRY(query_next(&query, &found));
        if (!found) break;
        TRY(memory_grow((void **)&list->items, list->count, &capacity, sizeof *list->items));
        TRY(read_output(&query, &list->items[list->count]));
        list->count++;
    }
    *out_list = TAKE(list);
    return NULL;
}
