#pragma once
/* A new job that takes its contents from another one: a fork, or the replay of a verification.
 *
 * A job with many outputs is copied in steps. Each step is a piece of catalog work with a bounded
 * number of rows, so that others write between two steps. Until the last step the new job is marked
 * as removed (removals.h): no reader sees the job, and the next process deletes a copy that a dead
 * process left. jobs_fork and verifications_begin run one step each; scheduler/service, which owns
 * the JobCopy, calls them until the copy is done. Threads: the steps run in catalog work
 * (catalog.h). */
#include "store/jobs/job_checkpoints.h"
#include "store/jobs/jobs.h"

enum { JOB_COPY_STEP_ROWS = 1024 }; /* about how many rows a step adds */

/* Initialized with {0}. After an error the caller may only call job_copy_deinit. */
typedef struct JobCopy {
    bool done;
    JobId id; /* of the new job, when it is done */
    /* The fields below belong to the copy; callers leave them alone. */
    Job from, job;
    JobCheckpoint checkpoint;
    int64_t outputs; /* copied so far */
    /* keeps removals_run from deleting the new job; NULL: nothing to protect */
    struct Store *store;
    struct JobCopy *next; /* in the store's list of copies */
} JobCopy;

/* Gives up a copy that is not done; the next removals_run deletes its rows.
 * Threads: any but the one that holds the catalog's writer. */
void job_copy_deinit(JobCopy *copy);
#define OWN_JOB_COPY(name) __attribute__((cleanup(job_copy_deinit))) name
