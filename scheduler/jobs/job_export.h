#pragma once
/* Writes a job as a checkpoint file: the job at one of its checkpoints, with everything that it
 * needs to continue elsewhere. Called by job_service_checkpoints.c, on handler threads. No
 * state. */
#include "base/worker_pool.h"
#include "scheduler/http/server/http_response.h"
#include "scheduler/jobs/job_export_request.h"

/* Upper bound on what an answer keeps in memory of a job: the places of its chunks, and the small
 * parts of its outputs (half a KiB for each) and inputs. A job that needs more is written to a
 * file. */
#define JOB_EXPORT_MEMORY_MAX ((uint64_t)32 << 20)

/* Writes the file: durable on return; on failure there is no file. The job may run meanwhile.
 * Errors: NOT_FOUND the job, the checkpoint; CONFLICT its data is gone; INVALID it is too large;
 * EXHAUSTED the disk is full; IO. */
MUST_CHECK Error *job_export_write(
    Store *store, WorkerPool *pool, const JobExportRequest *wanted, const char *path);

/* Opens the same file as an answer that is made while it is read and needs no room on the disk.
 * Inputs that are cut are encoded twice: to learn their size, and to send them. If the job would
 * keep more than JOB_EXPORT_MEMORY_MAX in memory (tens of thousands of outputs), out_stream->pull
 * is NULL and the caller writes the file instead. The stream fails where a chunk is damaged. */
MUST_CHECK Error *job_export_open(
    Store *store, WorkerPool *pool, const JobExportRequest *wanted, HttpStream *out_stream);
