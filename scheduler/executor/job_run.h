#pragma once
/* A job being run: its batch, how far it is, its present execution. What a worker works on.
 *
 * Outputs and yields are numbered in the order in which they come: run by run, within a run first
 * its yields, then what it returned. A run again gives the same ones under the same numbers.
 *
 *      idle (no execution) -> job_run_slice -> between instructions -> ... -> finished
 *                                |  job_run_move_out           ^
 *                                v                             |  job_run_move_in
 *                             in host memory (bytes) ----------+
 *
 * Threads: one at a time; job_run_request_slice_end from any. */
#include <stdatomic.h>

#include "scheduler/executor/batch.h"
#include "kernels/device/kernel_stop.h"
#include "serialize/checkpoint/checkpoint.h"
#include "vm/execution/snapshot.h"

typedef struct JobRun JobRun;

enum { JOB_RUN_ARRAYS_MAX = 1 << 14 }; /* in one output */

/* Where outputs go, on the worker's thread. */
typedef struct JobRunSink {
    /* owned_arrays: one output, or one yield (of one array). items_done: with it. */
    Error *(*output)(void *self, int64_t sequence, ArrayList *owned_arrays, int64_t items_done);
    void *self;
} JobRunSink;

typedef enum JobRunOutcome {
    JOB_RUN_SLICE_ENDED,
    JOB_RUN_FINISHED,
    JOB_RUN_NEEDS_MEMORY,
    JOB_RUN_SUSPENDED, /* at the instruction where it is to be suspended */
} JobRunOutcome;

typedef struct JobRunResult {
    JobRunOutcome outcome;
    uint64_t bytes; /* NEEDS_MEMORY */
} JobRunResult;

/* owned_batch is consumed, also on failure. options: copied; their registry is retained. One output
 * has as many bytes at most as slot 0 may have. */
MUST_CHECK Error *job_run_create(
    Batch *owned_batch, uint32_t function, const ExecutionOptions *options, JobRun **out_run);
void job_run_release(JobRun *run);
DEFINE_OWN(JobRun, job_run_release);

/* Runs until the job is finished, a slice end is requested, or memory is needed. The residency is
 * where a new execution is made; a present one stays where it is.
 * Errors: whatever the function's instructions return, with the run's items named; then the job has
 * failed. What the sink returns. */
MUST_CHECK Error *job_run_slice(
    JobRun *run, Residency *residency, JobRunSink sink, JobRunResult *out_result);
/* Ends the present slice, or the next one at once. Threads: any. */
void job_run_request_slice_end(JobRun *run);
/* The same; a kernel that still computes at that time waits where it is, until one of the next
 * three. */
void job_run_request_pause(JobRun *run, uint64_t from_ns);
/* The slice is to go on: takes back what was requested. */
void job_run_resume(JobRun *run);
/* The slice ends within milliseconds: a kernel is left half done and its instruction executed again
 * some time, unless it writes over what it reads. */
void job_run_request_abandon(JobRun *run);
/* The same in any case: the slice ends with an error, and the run can only be released. */
void job_run_request_discard(JobRun *run);
/* Threads: any. */
LongKernel job_run_get_kernel(JobRun *run);
/* Called when a kernel has begun to wait, on the thread of its slice or one that works for it; must
 * not wait. Before the first slice. */
void job_run_set_paused(JobRun *run, void (*paused)(void *listener), void *listener);

/* Of the run's present execution, or of the last one; all 0 before there is one. */
typedef struct JobRunCounters {
    uint64_t instructions, kernel_calls; /* since the run began, over all checkpoints */
    uint64_t peak_bytes;                 /* of memory, in this process */
} JobRunCounters;
JobRunCounters job_run_get_counters(const JobRun *run);

int64_t job_run_items_done(const JobRun *run);
int64_t job_run_items_total(const JobRun *run); /* BATCH_SINGLE: a single run */
/* The number of the next output. */
int64_t job_run_sequence(const JobRun *run);
/* What the execution may hold of its device; taken over by every further one. */
void job_run_set_grant(JobRun *run, uint64_t bytes);
/* Of a single run: a slice that reaches this many instructions, from the run's first one on, ends
 * there; 0: none does. One that begins there ends at once, unless it was suspended there already:
 * a checkpoint of that moment may be all that a crash has left. */
void job_run_set_suspend_at(JobRun *run, uint64_t instructions, bool passed);
/* Of the present execution on its device; 0 without one. */
uint64_t job_run_device_bytes(const JobRun *run);

/* Off the device into host memory, and back. Between slices.
 * Errors: EXHAUSTED, DEVICE_LOST; then nothing has changed. */
MUST_CHECK Error *job_run_move_out(JobRun *run, WorkerPool *pool);
MUST_CHECK Error *job_run_move_in(JobRun *run, Residency *residency, WorkerPool *pool);
/* Moved in or restored on a device of another determinism class than the one that its bits were
 * made with so far: what people are to be told, once; NULL: nothing. memory_free. */
char *job_run_take_class_change(JobRun *run);
bool job_run_is_out(const JobRun *run);
/* Bytes in host memory while it is out. */
uint64_t job_run_host_bytes(const JobRun *run);

/* Everything that a job needs to go on, at one point between two instructions: what a job's
 * checkpoint is written from while the job runs on. */
typedef struct JobSnapshot {
    uint64_t next_run;
    int64_t sequence;
    int64_t items_done;
    BatchOutputs outputs;
    Snapshot *execution; /* NULL: it goes on with run next_run, or is out */
    ByteReader out;      /* its checkpoint file in the run's memory, while it is out */
} JobSnapshot;

/* Between slices. Of a run that is out, the snapshot must go before it moves in or is released. */
MUST_CHECK Error *job_run_take_snapshot(JobRun *run, JobSnapshot *out_snapshot);
void job_snapshot_deinit(JobSnapshot *snapshot);
#define OWN_SNAPSHOT(name) __attribute__((cleanup(job_snapshot_deinit))) name

/* As bytes and chunks: docs/job-files.md#job-checkpoint.
 *
 * out_bytes, *out_chunks: the job's checkpoint; memory_free the latter. */
MUST_CHECK Error *job_snapshot_write(const JobSnapshot *snapshot, WorkerPool *pool, ChunkSink sink,
    ByteWriter *out_bytes, ChunkRef **out_chunks, size_t *out_chunk_count);
/* Puts a job that has not begun where the checkpoint was taken. Nothing in it is believed.
 *
 * residency: where its execution goes on.
 * warm:      see checkpoint_read; NULL: nothing is.
 * Errors:    CORRUPT; INVALID another executable; EXHAUSTED. */
MUST_CHECK Error *job_run_restore(JobRun *run, const void *bytes, size_t size, WorkerPool *pool,
    ChunkVerify verify, ChunkSource source, Residency *residency, WarmStorages *warm);
