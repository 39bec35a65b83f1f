#pragma once
/* The file of a job of a single run, run in this process instead of by a daemon. What it had given
 * before goes into its outputs, and into its next checkpoint. */
#include "serialize/arrays/array_list.h"
#include "serialize/checkpoint/job_file.h"
#include "vm/execution/snapshot.h"

typedef struct RunJob {
    Container *container; /* borrowed; the file that it was read from */
    JobFile file;
    char *function;
    uint64_t random_key;
    ArrayList outputs; /* that the job has given */
} RunJob;

/* Errors: CORRUPT; INVALID a batch job. */
MUST_CHECK Error *run_job_open(Container *container, WorkerPool *pool, RunJob *out_job);
void run_job_close(RunJob *job);
#define OWN_RUN_JOB(name) __attribute__((cleanup(run_job_close))) name

/* The inputs of one that has not begun. */
MUST_CHECK Error *run_job_read_inputs(const RunJob *job, WorkerPool *pool, ArrayList *out_inputs);
/* The executable that goes along. Errors: NOT_FOUND it does not. */
MUST_CHECK Error *run_job_load_model(
    const RunJob *job, WorkerPool *pool, Executable **out_executable);
/* The job's file once more, with its execution as it is now. Durable. */
MUST_CHECK Error *run_job_write(const RunJob *job, const Snapshot *snapshot, WorkerPool *pool,
    const char *path, uint64_t *out_bytes);
