#pragma once
/* A job's checkpoints: what it goes on from, with how far it was there. */
#include "store/database/job_id.h"
#include "store/jobs/jobs.h"

typedef struct JobCheckpoint {
    int64_t number; /* 1, 2, …; never given twice to one job */
    double created; /* seconds since 1970 */
    int64_t items_done;
    int64_t outputs; /* sequence numbers below this were stored before it */
    uint64_t bytes_raw;
    uint64_t bytes_stored;
} JobCheckpoint;

typedef struct JobCheckpointList {
    JobCheckpoint *items; /* in the order of their numbers */
    size_t count;
} JobCheckpointList;

void job_checkpoint_list_release(JobCheckpointList *list);
DEFINE_OWN(JobCheckpointList, job_checkpoint_list_release);

/* Stores a checkpoint together with the job's progress, and makes the outputs before it visible.
 * Outputs that belong to it are added in the same piece of catalog work, before it. No quota
 * refuses a checkpoint: the work that it saves was admitted.
 *
 * content: staged.
 * outputs: how many outputs stand before it; all of them must be stored.
 * keep:    how many checkpoints stay, 1 …: older ones go in the same transaction.
 * Errors:  NOT_FOUND; CONFLICT the job has ended; INVALID outputs that are not stored, or more
 *          items than it has. */
MUST_CHECK Error *job_checkpoints_add(Connection *catalog, TenantId tenant, JobId job,
    const JobContent *content, int64_t items_done, int64_t outputs, int64_t keep,
    int64_t *out_number);

/* number: 0 for the newest. Its content is read with stored_content_open. Errors: NOT_FOUND. */
MUST_CHECK Error *job_checkpoints_get(
    Store *store, TenantId tenant, JobId job, int64_t number, JobCheckpoint *out_checkpoint);
MUST_CHECK Error *job_checkpoints_list(
    Store *store, TenantId tenant, JobId job, JobCheckpointList **out_list);
/* Those with a number above after, count_max at most. */
MUST_CHECK Error *job_checkpoints_list_page(Store *store, TenantId tenant, JobId job, int64_t after,
    size_t count_max, JobCheckpointList **out_list);
