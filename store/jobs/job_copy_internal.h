#pragma once
/* The steps of a copy, in the caller's catalog transaction. Callers: jobs_fork.c, verifications.c
 * and, for job_copy_has, store/upkeep. Threads: the catalog's writer. */
#include "store/jobs/job_copy.h"
#include "store/database/store_connections_internal.h"

bool job_copy_has_begun(const JobCopy *copy);
/* Runs the first step: adds the new job's row, inputs and checkpoint.
 *
 * job:        the job that jobs_make_fork made.
 * submission: only its policy is read.
 * Errors:     EXHAUSTED a quota of the tenant. */
MUST_CHECK Error *job_copy_begin(Connection *catalog, const Job *from,
    const JobCheckpoint *checkpoint, const Job *job, const JobSubmission *submission,
    JobCopy *inout_copy);
/* Runs a further step while outputs are left.
 * Errors: NOT_FOUND the other job was removed; CONFLICT the other job went elsewhere; EXHAUSTED. */
MUST_CHECK Error *job_copy_step(Connection *catalog, JobCopy *inout_copy);
/* Returns whether everything is copied. job_copy_finish then follows in the same transaction. */
bool job_copy_is_whole(const JobCopy *copy);
/* Makes the new job visible. why: the reason in the job's first event. Errors: EXHAUSTED. */
MUST_CHECK Error *job_copy_finish(Connection *catalog, const char *why, JobCopy *inout_copy);

/* Returns whether a marked job is a copy that is still being made. The caller holds the catalog's
 * writer. */
bool job_copy_has(const Store *store, int64_t row);
