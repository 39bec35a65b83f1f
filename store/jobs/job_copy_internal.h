#pragma once
/* The steps of a copy, in the caller's catalog transaction. */
#include "store/jobs/job_copy.h"
#include "store/database/store_internal.h"

bool job_copy_has_begun(const JobCopy *copy);
/* The first step, with the new job's row, inputs and checkpoint. job: what jobs_make_fork made.
 *
 * submission: its policy counts. Errors: EXHAUSTED a quota of the tenant. */
MUST_CHECK Error *job_copy_begin(Connection *catalog, const Job *from,
    const JobCheckpoint *checkpoint, const Job *job, const JobSubmission *submission,
    JobCopy *inout_copy);
/* A further step, while outputs are left.
 * Errors: NOT_FOUND the other job was removed since; CONFLICT it went elsewhere; EXHAUSTED. */
MUST_CHECK Error *job_copy_step(Connection *catalog, JobCopy *inout_copy);
/* Whether all is copied: job_copy_finish follows in the same transaction. */
bool job_copy_is_whole(const JobCopy *copy);
/* From now on the new job is seen. why: of its first event. Errors: EXHAUSTED. */
MUST_CHECK Error *job_copy_finish(Connection *catalog, const char *why, JobCopy *inout_copy);

/* Whether a marked job is one that is still being made. The caller has the catalog's writer. */
bool job_copy_has(const Store *store, int64_t row);
