#pragma once
/* A new job that takes its contents from another one: a fork, or the replay of a verification.
 *
 * A job with many outputs is copied in steps. Each is a piece of catalog work with a bounded number
 * of rows, so that others write between two steps. Until the last step the new job is marked as
 * removed (removals.h): nobody sees it, and what a process leaves of it is deleted by the next one.
 * Called by jobs_fork and verifications_begin; the caller runs them until the copy is done. */
#include "store/jobs/job_checkpoints.h"
#include "store/jobs/jobs.h"

enum { JOB_COPY_STEP_ROWS = 1024 }; /* added in a step, about */

/* Begins as {0}. After an error nothing but job_copy_deinit may be called with it. */
typedef struct JobCopy {
    bool done;
    JobId id; /* of the new job, when it is done */
    /* The copy's own. */
    Job from, job;
    JobCheckpoint checkpoint;
    int64_t outputs;      /* copied so far */
    struct Store *store;  /* which keeps removals_run off the new job; NULL: it need not */
    struct JobCopy *next; /* the store's */
} JobCopy;

/* A copy that is not done is given up: the next removals_run deletes what there is of it.
 * Threads: any but the one that has the catalog's writer. */
void job_copy_deinit(JobCopy *copy);
#define OWN_JOB_COPY(name) __attribute__((cleanup(job_copy_deinit))) name
