#pragma once
/* Runs the file of a single-run job in this process instead of a daemon. Outputs that the job gave
 * before go into its outputs and its next checkpoint. Caller: run_machine.c and the verb resume.
 * Threads: the main thread. */
#include "serialize/arrays/array_list.h"
#include "serialize/checkpoint/job_file.h"
#include "vm/execution/snapshot.h"

typedef struct RunJob {
    Container *container; /* borrowed; the file that the job was read from */
    JobFile file;
    char *function;
    uint64_t random_key;
    ArrayList outputs; /* outputs that the job has given */
} RunJob;

/* Opens a job. Errors: CORRUPT; INVALID a batch job. */
MUST_CHECK Error *run_job_open(Container *container, WorkerPool *pool, RunJob *out_job);
void run_job_close(RunJob *job);
#define OWN_RUN_JOB(name) __attribute__((cleanup(run_job_close))) name

/* Reads the inputs of a job that has not begun. */
MUST_CHECK Error *run_job_read_inputs(const RunJob *job, WorkerPool *pool, ArrayList *out_inputs);
/* Loads the executable in the file. Errors: NOT_FOUND the file has none. */
MUST_CHECK Error *run_job_load_model(
    const RunJob *job, WorkerPool *pool, Executable **out_executable);
/* Writes the job's file again with its present execution, durably. */
MUST_CHECK Error *run_job_write(const RunJob *job, const Snapshot *snapshot, WorkerPool *pool,
    const char *path, uint64_t *out_bytes);
