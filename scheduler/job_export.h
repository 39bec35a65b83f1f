#pragma once
/* A job into a checkpoint file: the job as it was at one of its checkpoints, with everything that
 * it needs to go on. */
#include "base/worker_pool.h"
#include "store/jobs.h"

typedef struct JobExport {
    TenantId tenant;
    JobId job;
    int64_t checkpoint; /* its number; 0: the newest, or the beginning where there is none */
    bool with_model;
    bool owns; /* the file owns the job: whoever calls sees to it that nothing else does */
} JobExport;

/* Durable on return; on failure there is no file. The job may run on meanwhile.
 * Errors: NOT_FOUND the job, the checkpoint; CONFLICT its data is gone; INVALID it is too large;
 *         EXHAUSTED the disk is full; IO. */
MUST_CHECK Error *job_export_write(
    Store *store, WorkerPool *pool, const JobExport *wanted, const char *path);
