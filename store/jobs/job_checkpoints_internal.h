#pragma once
/* Checkpoints inside the caller's catalog transaction. Only store/jobs calls these functions, in
 * the thread that runs the catalog work. */
#include <stdbool.h>

#include "store/jobs/job_checkpoints.h"
#include "store/jobs/job_events.h"
#include "store/database/store_connections_internal.h"

/* number: 0 for the newest. */
MUST_CHECK Error *job_checkpoints_find(Connection *catalog, int64_t job, int64_t number,
    bool *out_found, JobCheckpoint *out_checkpoint);
/* Finds a checkpoint like job_checkpoints_find, or fails with NOT_FOUND and the job's name. */
MUST_CHECK Error *job_checkpoints_need(
    Connection *catalog, const Job *job, int64_t number, JobCheckpoint *out_checkpoint);
/* Deletes all checkpoints but the newest `keep`. Deletes more when the tenant is beyond a quota;
 * out_why then gives the reason; otherwise it is "". The caller writes the job back. */
MUST_CHECK Error *job_checkpoints_drop_old(
    Connection *catalog, Job *inout_job, int64_t keep, char out_why[JOB_WHY_SIZE]);
/* The part of job_checkpoints_add that changes a job in memory. The caller writes the job back. */
MUST_CHECK Error *job_checkpoints_append(Connection *catalog, Job *inout_job,
    const JobContent *content, int64_t items_done, int64_t outputs, int64_t keep);
