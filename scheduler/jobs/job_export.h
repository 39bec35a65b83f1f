#pragma once
/* A job into a checkpoint file: the job as it was at one of its checkpoints, with everything that
 * it needs to go on. */
#include "base/worker_pool.h"
#include "scheduler/http/server/http_response.h"
#include "store/jobs/jobs.h"

/* What an answer may keep in memory of a job: where its chunks are, and what is small in its
 * outputs (half a KiB for each) and inputs. Beyond it the file is to be written. */
#define JOB_EXPORT_MEMORY_MAX ((uint64_t)32 << 20)

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

/* The same file as an answer that is made while it is read, and needs no room on the disk. Inputs
 * that are cut are encoded twice: to learn how large they are, and to send them. Of a job that
 * would keep more than JOB_EXPORT_MEMORY_MAX in memory (tens of thousands of outputs)
 * out_stream->pull is NULL: the file is to be written. The stream fails where a chunk is damaged.
 */
MUST_CHECK Error *job_export_open(
    Store *store, WorkerPool *pool, const JobExport *wanted, HttpStream *out_stream);
