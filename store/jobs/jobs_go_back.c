#include <stdio.h>

#include "base/allocator.h"
#include "store/jobs/job_checkpoints_internal.h"
#include "store/contents/job_content_internal.h"
#include "store/jobs/jobs.h"
#include "store/jobs/jobs_internal.h"
#include "store/jobs/stored_content_internal.h"
#include "store/accounts/tenants_internal.h"
#include "store/jobs/job_events_internal.h"
#include "store/jobs/job_row_internal.h"

/* Copies the checkpoint's row under a new number. gc keeps the chunks: the first row refers to them
 * in the same transaction. */
static Error *copy_checkpoint(Connection *catalog, Job *job, const JobCheckpoint *from) {
    StoredContent content = {.chunks = NULL};
    bool found;
    Error *error = stored_content_read(
        catalog, job->row, JOB_CONTENT_CHECKPOINT, from->number, &content, &found);
    if (!error && !found)
        error = error_make(ERROR_CORRUPT, __FILE__, __LINE__,
            "catalog.db: checkpoint %lld is gone; run fsck", (long long)from->number);
    JobContent copy = {.bytes = content.bytes.data,
        .size = content.bytes.size,
        .chunks = content.chunks,
        .chunk_count = content.chunk_count,
        .tenant = job->tenant,
        .bytes_raw = from->bytes_raw,
        .bytes_stored = from->bytes_stored};
    JobContentMarks marks = {from->items_done, from->outputs};
    if (!error)
        error =
            job_content_digest(copy.bytes, copy.size, copy.chunks, copy.chunk_count, &copy.digest);
    if (!error)
        error = job_content_insert(catalog, job->tenant, job->row, JOB_CONTENT_CHECKPOINT,
            job->checkpoint_last + 1, &marks, &copy);
    byte_writer_deinit(&content.bytes);
    memory_free(content.chunks);
    TRY(error);
    job->checkpoint_last++;
    job->checkpoint_created = from->created;
    job->bytes_stored += from->bytes_stored;
    return tenants_charge_unlimited(catalog, job->tenant, from->bytes_stored);
}

Error *jobs_go_back(
    Connection *catalog, TenantId tenant, JobId id, int64_t checkpoint, int64_t keep) {
    Job job;
    JobCheckpoint found;
    TRY(job_row_read(catalog, tenant, id, &job));
    TRY(job_checkpoints_need(catalog, &job, checkpoint, &found));
    if (job.state != JOB_STATE_SUSPENDED)
        FAIL(CONFLICT, "cannot resume a job that is %s", job_state_info(job.state)->name);
    /* the job would continue from there without a copy */
    if (found.number == job.checkpoint_last) return NULL;
    TRY(copy_checkpoint(catalog, &job, &found));
    char why[JOB_WHY_SIZE];
    TRY(job_checkpoints_drop_old(catalog, &job, keep, why)); /* the event of going back is enough */
    (void)snprintf(why, sizeof why, "goes on from checkpoint %lld, now %lld",
        (long long)found.number, (long long)job.checkpoint_last);
    TRY(job_events_add(catalog, &job, JOB_EVENT_NOTE, 0, 0, why));
    return job_row_write(catalog, &job);
}
