#pragma once
/* A job's stored checkpoints: the states that the job can continue from, with its progress there.
 * Callers: scheduler/control (slices), scheduler/jobs (job files) and scheduler/service (listings).
 * Threads: functions with a Connection run in catalog work (catalog.h), the others in any thread.
 */
#include "store/database/job_id.h"
#include "store/contents/job_content.h"
#include "store/jobs/job_row.h"

typedef struct JobCheckpoint {
    int64_t number; /* 1, 2, …; a job never gets a number twice */
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

/* Stores a checkpoint together with the job's progress, and makes the outputs before the checkpoint
 * visible. The caller adds those outputs earlier in the same piece of catalog work. No quota
 * refuses a
 * checkpoint: the job was admitted with the work that the checkpoint saves.
 *
 * content: staged.
 * outputs: the number of outputs before the checkpoint; all of them must be stored.
 * keep:    how many checkpoints stay, 1 or more; the same transaction deletes older ones.
 * Errors:  NOT_FOUND; CONFLICT the job has ended; INVALID an output is not stored, or items_done is
 *          beyond the job's items. */
MUST_CHECK Error *job_checkpoints_add(Connection *catalog, TenantId tenant, JobId job,
    const JobContent *content, int64_t items_done, int64_t outputs, int64_t keep,
    int64_t *out_number);

/* Reads a checkpoint's row. number: 0 for the newest. stored_content_open reads the content.
 * Errors: NOT_FOUND. */
MUST_CHECK Error *job_checkpoints_get(
    Store *store, TenantId tenant, JobId job, int64_t number, JobCheckpoint *out_checkpoint);
MUST_CHECK Error *job_checkpoints_list(
    Store *store, TenantId tenant, JobId job, JobCheckpointList **out_list);
/* Lists checkpoints with a number above after, at most count_max of them. */
MUST_CHECK Error *job_checkpoints_list_page(Store *store, TenantId tenant, JobId job, int64_t after,
    size_t count_max, JobCheckpointList **out_list);
