#pragma once
/* A job's outputs and yields: rows by sequence number, of which the first one wins. */
#include "store/database/job_id.h"
#include "store/jobs/jobs.h"

enum {
    JOB_OUTPUTS_LISTED_MAX = 10000, /* at once */
    JOB_OUTPUTS_STEP_ROWS = 1024,   /* deleted in a step of job_outputs_rewind, about */
};

typedef struct JobOutputsResult {
    size_t added;
    size_t dropped;  /* stored before, with equal content */
    size_t diverged; /* stored before, with other content; each has its event */
} JobOutputsResult;

/* Stores contents[i] as the output of sequence number first + i. One that is there stays as it is.
 *
 * first:      at most the job's output_count: no number is left out.
 * contents:   staged.
 * items_done: how far the job is with them; -1: as it was. It never goes back.
 * out_result: may be NULL.
 * Errors:     NOT_FOUND; CONFLICT the job has ended; INVALID a number is left out, or more items
 *             than it has; EXHAUSTED the quota store_bytes. */
MUST_CHECK Error *job_outputs_add(Connection *catalog, TenantId tenant, JobId job, int64_t first,
    const JobContent *contents, size_t count, int64_t items_done, JobOutputsResult *out_result);

/* Before a job goes back to its newest checkpoint: forgets the outputs that nobody could see yet,
 * and with JOB_RELEASE_CHECKPOINT the items behind the checkpoint. One step of it, which deletes a
 * bounded number of the last ones: called again, each time as work of its own, until *out_done.
 * Errors: NOT_FOUND; CONFLICT the job has ended. */
MUST_CHECK Error *job_outputs_rewind(
    Connection *catalog, TenantId tenant, JobId job, bool *out_done);

typedef struct JobOutput {
    int64_t sequence;
    double created; /* seconds since 1970 */
    uint64_t bytes_raw;
    uint64_t bytes_stored;
} JobOutput;

typedef struct JobOutputList {
    JobOutput *items;
    size_t count;
} JobOutputList;

void job_output_list_release(JobOutputList *list);
DEFINE_OWN(JobOutputList, job_output_list_release);

/* Visible outputs from sequence number begin on, up to JOB_OUTPUTS_LISTED_MAX; their content is
 * read with stored_content_open. Errors: NOT_FOUND. */
MUST_CHECK Error *job_outputs_list(
    Store *store, TenantId tenant, JobId job, int64_t begin, JobOutputList **out_list);
