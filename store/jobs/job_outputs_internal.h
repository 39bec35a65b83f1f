#pragma once
/* Outputs inside the caller's catalog transaction. Called by jobs_change.c, in the thread that runs
 * the catalog work. */
#include "store/jobs/job_outputs.h"

/* The part of job_outputs_add that changes a job in memory. The caller writes the job back. */
MUST_CHECK Error *job_outputs_append(Connection *catalog, Job *inout_job, int64_t first,
    const JobContent *contents, size_t count, JobOutputsResult *inout_result);
