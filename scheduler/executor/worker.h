#pragma once
/* A worker: a thread that runs slices on one device, one job at a time. If a slice does not give
 * the device back in time, because a kernel pauses or takes long, the slice is set aside: it keeps
 * its thread, and another thread takes the next slices. Made and commanded by the control thread,
 * one for each device. */
#include "scheduler/executor/job_run.h"

typedef struct Worker Worker;

/* One slice. The struct is the caller's and stays until done was called. */
typedef struct WorkerSlice {
    JobRun *run;
    Residency *residency;
    JobRunSink sink;
    /* Called on the slice's thread when the slice is over. */
    void (*done)(struct WorkerSlice *slice);
    /* The members below are set by the worker. */
    JobRunResult result;
    Error *error;            /* owned by the receiver of done: the job has failed, or DEVICE_LOST */
    uint64_t start_ns;       /* on the monotonic clock */
    uint64_t device_time_ns; /* how long the worker was occupied */
    struct WorkerSlice *next;
} WorkerSlice;

/* name: at most 11 letters, shown by ps and gdb. */
MUST_CHECK Error *worker_create(const char *name, Worker **out_worker);
/* Waits for all posted slices. */
void worker_release(Worker *worker);
DEFINE_OWN(Worker, worker_release);
/* Posts a slice; slices run in the order of their posting. job_run_request_slice_end ends one.
 * Threads: any. */
void worker_post(Worker *worker, WorkerSlice *slice);
/* Runs a slice that was not posted on the caller's thread, and calls its done. */
void worker_run(WorkerSlice *slice);
/* Sets the running slice aside: slices that are posted later do not wait for it, as long as the
 * system gives threads. Threads: any. */
void worker_set_aside(Worker *worker);
