#pragma once
/* A job that is being run: its batch, its progress, its present execution. Made by the control
 * thread's I/O tasks; worker.c runs its slices on a device's worker thread; the I/O threads move it
 * and take snapshots between slices.
 *
 * Outputs and yields are numbered in the order in which they come: run by run, within a run first
 * its yields, then its returned value. A repeated run gives the same outputs under the same
 * numbers.
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

/* Receives outputs, on the worker's thread. */
typedef struct JobRunSink {
    /* owned_arrays: one output, or one yield (of one array). items_done: the count including this
     * output. */
    Error *(*output)(void *self, int64_t sequence, ArrayList *owned_arrays, int64_t items_done);
    void *self;
} JobRunSink;

typedef enum JobRunOutcome {
    JOB_RUN_SLICE_ENDED,
    JOB_RUN_FINISHED,
    JOB_RUN_NEEDS_MEMORY,
    JOB_RUN_SUSPENDED, /* at the instruction that job_run_set_suspend_at names */
} JobRunOutcome;

typedef struct JobRunResult {
    JobRunOutcome outcome;
    uint64_t bytes; /* NEEDS_MEMORY */
} JobRunResult;

/* owned_batch is consumed, also on failure. options: copied; their registry is retained. One output
 * may have at most as many bytes as slot 0. */
MUST_CHECK Error *job_run_create(
    Batch *owned_batch, uint32_t function, const ExecutionOptions *options, JobRun **out_run);
void job_run_release(JobRun *run);
DEFINE_OWN(JobRun, job_run_release);

/* Runs until the job is finished, a slice end is requested, or memory is needed. New executions are
 * made on the residency; a present execution stays where it is. Errors: an error of the function's
 * instructions, with the run's items named, after which the job has failed; an error of the
 * sink. */
MUST_CHECK Error *job_run_slice(
    JobRun *run, Residency *residency, JobRunSink sink, JobRunResult *out_result);
/* Ends the present slice, or the next one as soon as it begins. Threads: any. */
void job_run_request_slice_end(JobRun *run);
/* Also ends the slice; a kernel that still computes at from_ns pauses until one of the next three
 * functions is called. */
void job_run_request_pause(JobRun *run, uint64_t from_ns);
/* Withdraws the request: the slice continues. */
void job_run_resume(JobRun *run);
/* Ends the slice within milliseconds: a running kernel is abandoned and its instruction executed
 * again later, unless that kernel overwrites its inputs. */
void job_run_request_abandon(JobRun *run);
/* Ends the slice in any case: the slice ends with an error, and the run can only be released. */
void job_run_request_discard(JobRun *run);
/* The kernel that computes now. Threads: any. */
LongKernel job_run_get_kernel(JobRun *run);
/* Sets the function that is called when a kernel pauses, on the thread of its slice or a thread
 * that works for it; it must not wait. Before the first slice. */
void job_run_set_paused(JobRun *run, void (*paused)(void *listener), void *listener);

/* The counters of the run's present execution, or of the last one; all 0 before the first. */
typedef struct JobRunCounters {
    uint64_t instructions, kernel_calls; /* since the run began, over all checkpoints */
    uint64_t peak_bytes;                 /* of memory, in this process */
    ExecutionTraffic traffic;
} JobRunCounters;
JobRunCounters job_run_get_counters(const JobRun *run);

int64_t job_run_items_done(const JobRun *run);
int64_t job_run_items_total(const JobRun *run); /* BATCH_SINGLE: a single run */
/* The number of the next output. */
int64_t job_run_sequence(const JobRun *run);
/* Sets how many bytes the execution may hold on its device; later executions of the job inherit the
 * limit. */
void job_run_set_grant(JobRun *run, uint64_t bytes);
/* For a single run: makes the slice that reaches this many instructions, from the run's first one
 * on, end there; 0: no slice does. A slice that begins at that instruction ends at once, unless
 * passed says that the job was suspended there already: after a crash, a checkpoint of that moment
 * may be all that is left. */
void job_run_set_suspend_at(JobRun *run, uint64_t instructions, bool passed);
/* Bytes of the present execution on its device; 0 without an execution. */
uint64_t job_run_device_bytes(const JobRun *run);

/* Move the execution from the device into host memory, and back. Between slices. Errors: EXHAUSTED,
 * DEVICE_LOST; then nothing has changed. */
MUST_CHECK Error *job_run_move_out(JobRun *run, WorkerPool *pool);
MUST_CHECK Error *job_run_move_in(JobRun *run, Residency *residency, WorkerPool *pool);
/* The message for people after the execution moved, or was restored, to a device of another
 * determinism class than that of the earlier instructions. Returned once; NULL: no message. Freed
 * by memory_free. */
char *job_run_take_class_change(JobRun *run);
bool job_run_is_out(const JobRun *run);
/* Bytes in host memory of a run that is out. */
uint64_t job_run_host_bytes(const JobRun *run);

/* A job at one point between two instructions, with everything that it needs to continue. A job's
 * checkpoint is written from the snapshot while the job runs. */
typedef struct JobSnapshot {
    uint64_t next_run;
    int64_t sequence;
    int64_t items_done;
    BatchOutputs outputs;
    Snapshot *execution; /* NULL: the job continues with run next_run, or is out */
    ByteReader out;      /* the run's checkpoint file in memory, while the run is out */
} JobSnapshot;

/* Takes a snapshot between slices. The snapshot of a run that is out must be freed before the run
 * moves in or is released. */
MUST_CHECK Error *job_run_take_snapshot(JobRun *run, JobSnapshot *out_snapshot);
void job_snapshot_deinit(JobSnapshot *snapshot);
#define OWN_SNAPSHOT(name) __attribute__((cleanup(job_snapshot_deinit))) name

/* Writes the snapshot as bytes and chunks: docs/job-files.md#job-checkpoint.
 *
 * out_bytes, *out_chunks: the job's checkpoint; the latter is freed by memory_free. */
MUST_CHECK Error *job_snapshot_write(const JobSnapshot *snapshot, WorkerPool *pool, ChunkSink sink,
    ByteWriter *out_bytes, ChunkRef **out_chunks, size_t *out_chunk_count);
/* Sets a job that has not begun to the point where the checkpoint was taken. The bytes are not
 * trusted.
 *
 * residency: the residency on which the execution continues.
 * warm:      see checkpoint_read; NULL: no warm storages.
 * Errors:    CORRUPT; INVALID another executable; EXHAUSTED. */
MUST_CHECK Error *job_run_restore(JobRun *run, const void *bytes, size_t size, WorkerPool *pool,
    ChunkVerify verify, ChunkSource source, Residency *residency, WarmStorages *warm);
