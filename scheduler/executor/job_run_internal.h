#pragma once
/* A job's run as its files job_run.c and job_snapshot.c see it. Threads: as job_run.h. */
#include <pthread.h>

#include "scheduler/executor/job_run.h"

struct JobRun {
    Batch *batch;
    uint32_t function;
    ExecutionOptions options;
    uint64_t next_run;
    int64_t sequence;
    BatchOutputs outputs;
    uint64_t grant_bytes;
    uint64_t suspend_at;
    bool suspend_passed; /* the job was suspended at suspend_at */
    JobRunCounters counters;
    Execution *execution; /* of run next_run; NULL: the run has not begun, or is out */
    ByteWriter out;       /* the checkpoint file of a run that is out */
    bool is_out;
    char *class_change;    /* see job_run_take_class_change; NULL: no message */
    pthread_mutex_t mutex; /* guards slice_end_requested and, during a slice, the execution's
                            * lifetime */
    bool slice_end_requested;
    KernelStop kernel_stop; /* of all executions of this run */
};

/* Compares the determinism class of a checkpoint with the residency's and sets class_change. Called
 * before the checkpoint is restored there. */
MUST_CHECK Error *job_run_note_class(
    JobRun *run, const Container *container, const Residency *residency);
