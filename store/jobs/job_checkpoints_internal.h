#pragma once
/* Checkpoints inside the caller's transaction. */
#include <stdbool.h>

#include "store/jobs/job_checkpoints.h"
#include "store/database/store_internal.h"

/* number: 0 for the newest. */
MUST_CHECK Error *job_checkpoints_find(Connection *catalog, int64_t job, int64_t number,
    bool *out_found, JobCheckpoint *out_checkpoint);
/* The same, or NOT_FOUND with the job's name. */
MUST_CHECK Error *job_checkpoints_need(
    Connection *catalog, const Job *job, int64_t number, JobCheckpoint *out_checkpoint);
/* Deletes all but the newest `keep` numbers, and more where the tenant is beyond a quota: out_why
 * says so, "" else. The job is to be written back. */
MUST_CHECK Error *job_checkpoints_drop_old(
    Connection *catalog, Job *inout_job, int64_t keep, char out_why[JOB_WHY_SIZE]);
