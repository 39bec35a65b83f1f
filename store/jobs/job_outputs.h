#pragma once
/* A job's outputs and yields: rows by sequence number. The first output that is stored under a
 * number stays. Callers: scheduler/control adds outputs, scheduler/service lists them. Threads:
 * functions with a Connection run in catalog work (catalog.h), the others in any thread. */
#include "store/database/job_id.h"
#include "store/contents/job_content.h"
#include "store/jobs/job_row.h"

enum {
    JOB_OUTPUTS_LISTED_MAX = 10000, /* upper bound on the outputs of one call */
    JOB_OUTPUTS_STEP_ROWS = 1024,   /* about how many rows a step of job_outputs_rewind deletes */
};

typedef struct JobOutputsResult {
    size_t added;
    size_t dropped;  /* stored before, with equal content */
    size_t diverged; /* stored before, with other content; each has its event */
} JobOutputsResult;

/* Stores contents[i] as the output of sequence number first + i. An output that is already stored
 * stays as it is.
 *
 * first:      at most the job's output_count, so that no number is left out.
 * contents:   staged.
 * items_done: the job's progress with these outputs; -1: unchanged. The progress never goes back.
 * out_result: may be NULL.
 * Errors:     NOT_FOUND; CONFLICT the job has ended; INVALID a number is left out, or items_done is
 *             beyond the job's items; EXHAUSTED the quota store_bytes. */
MUST_CHECK Error *job_outputs_add(Connection *catalog, TenantId tenant, JobId job, int64_t first,
    const JobContent *contents, size_t count, int64_t items_done, JobOutputsResult *out_result);

/* Called before a job goes back to its newest checkpoint. Deletes the outputs that are not visible
 * yet, and with JOB_RELEASE_CHECKPOINT the items behind the checkpoint. One call is one step, which
 * deletes a bounded number of the last outputs; the caller repeats it, each time as a piece of
 * catalog work of its own, until *out_done. Errors: NOT_FOUND; CONFLICT the job has ended. */
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

/* Lists visible outputs from sequence number begin on, at most JOB_OUTPUTS_LISTED_MAX.
 * stored_content_open reads their content. Errors: NOT_FOUND. */
MUST_CHECK Error *job_outputs_list(
    Store *store, TenantId tenant, JobId job, int64_t begin, JobOutputList **out_list);
