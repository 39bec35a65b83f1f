#include "store/jobs/job_checkpoints.h"

#include <stdio.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "store/jobs/job_checkpoints_internal.h"
#include "store/contents/job_content_internal.h"
#include "store/accounts/tenants_internal.h"
#include "store/jobs/job_events_internal.h"
#include "store/jobs/job_row_internal.h"

void job_checkpoint_list_release(JobCheckpointList *list) {
    if (!list) return;
    memory_free(list->items);
    memory_free(list);
}

/* Makes the outputs before the checkpoint visible. */
static Error *release_outputs(Connection *catalog, Job *job, int64_t outputs, const char *why) {
    int64_t begin = job->outputs_visible;
    if (outputs > begin) job->outputs_visible = outputs;
    return job_events_add(catalog, job, JOB_EVENT_CHECKPOINT, begin, job->outputs_visible, why);
}

/* Deletes all but the newest `keep` checkpoints. */
static Error *drop_behind(Connection *catalog, Job *job, int64_t keep) {
    uint64_t bytes, raw;
    TRY(job_content_delete(catalog, job->row, JOB_CONTENT_CHECKPOINT, 0,
        job->checkpoint_last - keep + 1, &bytes, &raw));
    job->bytes_stored -= bytes;
    TRY(tenants_count_checkpoints(catalog, job->tenant, -sqlite3_changes(catalog->handle)));
    return tenants_discharge(catalog, job->tenant, bytes);
}

/* Decides how many checkpoints stay: only the newest above the quota of bytes; above the quota of
 * checkpoints, the excess is deleted. */
static Error *choose_kept(
    Connection *catalog, const Job *job, QuotaId quota, int64_t excess, int64_t *out_keep) {
    int64_t count;
    bool found;
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_COUNT_CHECKPOINTS);
    query_bind_i64(&query, 1, job->row);
    TRY(query_find_i64(&query, &found, &count));
    *out_keep = quota == QUOTA_CHECKPOINTS && count > excess ? count - excess : 1;
    if (count <= 1) *out_keep = 0; /* none can be deleted */
    return NULL;
}

Error *job_checkpoints_drop_old(
    Connection *catalog, Job *job, int64_t keep, char out_why[JOB_WHY_SIZE]) {
    QuotaId quota;
    int64_t excess, kept;
    out_why[0] = 0;
    TRY(drop_behind(catalog, job, keep));
    TRY(tenants_find_kept(catalog, job->tenant, &quota, &excess));
    if (quota == QUOTA_NONE) return NULL;
    TRY(choose_kept(catalog, job, quota, excess, &kept));
    if (kept == 0) return NULL;
    (void)snprintf(out_why, JOB_WHY_SIZE,
        "the tenant is beyond its quota %s: %lld of this job's checkpoints stay, not %lld",
        tenants_quota_name(quota), (long long)kept, (long long)keep);
    return drop_behind(catalog, job, kept);
}

Error *job_checkpoints_append(Connection *catalog, Job *inout_job, const JobContent *content,
    int64_t items_done, int64_t outputs, int64_t keep) {
    Job *job = inout_job;
    char why[JOB_WHY_SIZE];
    if (outputs < 0 || outputs > job->output_count)
        FAIL(INVALID, "a checkpoint behind %lld outputs, %lld are stored", (long long)outputs,
            (long long)job->output_count);
    if (items_done < 0) FAIL(INVALID, "a checkpoint at item %lld", (long long)items_done);
    if (keep < 1) FAIL(INVALID, "%lld checkpoints to keep", (long long)keep);
    TRY(job_row_advance(job, items_done));
    job->checkpoint_last++;
    job->checkpoint_created = clock_real().calendar_s(clock_real().self);
    JobContentMarks marks = {items_done, outputs};
    TRY(job_content_insert(catalog, job->tenant, job->row, JOB_CONTENT_CHECKPOINT,
        job->checkpoint_last, &marks, content));
    TRY(tenants_charge_unlimited(catalog, job->tenant, content->bytes_stored));
    job->bytes_stored += content->bytes_stored;
    TRY(job_checkpoints_drop_old(catalog, job, keep, why));
    return release_outputs(catalog, job, outputs, *why ? why : NULL);
}

Error *job_checkpoints_add(Connection *catalog, TenantId tenant, JobId job,
    const JobContent *content, int64_t items_done, int64_t outputs, int64_t keep,
    int64_t *out_number) {
    Job row;
    TRY(job_row_read_unfinished(catalog, tenant, job, &row));
    TRY(job_checkpoints_append(catalog, &row, content, items_done, outputs, keep));
    TRY(job_row_write(catalog, &row));
    *out_number = row.checkpoint_last;
    return NULL;
}

static Error *read_checkpoint(const Query *query, JobCheckpoint *out) {
    TRY(query_i64(query, 0, &out->number));
    TRY(query_f64(query, 1, &out->created));
    TRY(query_i64(query, 2, &out->items_done));
    TRY(query_i64(query, 3, &out->outputs));
    TRY(query_size(query, 4, &out->bytes_raw));
    return query_size(query, 5, &out->bytes_stored);
}

static Query start_list(Connection *catalog, int64_t job, int64_t begin, int64_t end) {
    Query query = query_start(catalog, STATEMENT_LIST_CONTENTS);
    query_bind_i64(&query, 1, job);
    query_bind_i64(&query, 2, JOB_CONTENT_CHECKPOINT);
    query_bind_i64(&query, 3, begin);
    query_bind_i64(&query, 4, end);
    query_bind_i64(&query, 5, -1); /* all kept checkpoints */
    return query;
}

static Query start_newest(Connection *catalog, int64_t job) {
    Query query = query_start(catalog, STATEMENT_FIND_NEWEST_CHECKPOINT);
    query_bind_i64(&query, 1, job);
    return query;
}

Error *job_checkpoints_find(Connection *catalog, int64_t job, int64_t number, bool *out_found,
    JobCheckpoint *out_checkpoint) {
    Query OWN_QUERY(query) =
        number == 0 ? start_newest(catalog, job) : start_list(catalog, job, number, number + 1);
    TRY(query_next(&query, out_found));
    return *out_found ? read_checkpoint(&query, out_checkpoint) : NULL;
}

Error *job_checkpoints_need(
    Connection *catalog, const Job *job, int64_t number, JobCheckpoint *out_checkpoint) {
    bool found = false;
    if (number >= 0 && number <= job->checkpoint_last)
        TRY(job_checkpoints_find(catalog, job->row, number, &found, out_checkpoint));
    if (found) return NULL;
    char name[JOB_ID_TEXT_SIZE];
    job_id_print(job->id, name);
    if (number == 0) FAIL(NOT_FOUND, "job %s has no checkpoint", name);
    FAIL(NOT_FOUND, "job %s has no checkpoint %lld", name, (long long)number);
}

Error *job_checkpoints_get(
    Store *store, TenantId tenant, JobId job, int64_t number, JobCheckpoint *out_checkpoint) {
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    Job row;
    TRY(job_row_read(catalog, tenant, job, &row));
    return job_checkpoints_need(catalog, &row, number, out_checkpoint);
}

Error *job_checkpoints_list_page(Store *store, TenantId tenant, JobId job, int64_t after,
    size_t count_max, JobCheckpointList **out_list) {
    OWN(JobCheckpointList, list) = NULL;
    TRY(memory_alloc(1, sizeof *list, (void **)&list));
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    Job row;
    TRY(job_row_read(catalog, tenant, job, &row));
    Query OWN_QUERY(query) =
        start_list(catalog, row.row, after < INT64_MAX ? after + 1 : after, INT64_MAX);
    size_t capacity = 0;
    while (list->count < count_max) {
        bool found;
        TRY(query_next(&query, &found));
        if (!found) break;
        TRY(memory_grow((void **)&list->items, list->count, &capacity, sizeof *list->items));
        TRY(read_checkpoint(&query, &list->items[list->count]));
        list->count++;
    }
    *out_list = TAKE(list);
    return NULL;
}

Error *job_checkpoints_list(
    Store *store, TenantId tenant, JobId job, JobCheckpointList **out_list) {
    return job_checkpoints_list_page(store, tenant, job, 0, SIZE_MAX, out_list);
}
