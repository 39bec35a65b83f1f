#pragma once
/* A job's run as its files see it. */
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
    bool suspend_passed; /* it was suspended there */
    JobRunCounters counters;
    Execution *execution; /* of run next_run; NULL: it has not begun, or is out */
    ByteWriter out;       /* its checkpoint file while it is out */
    bool is_out;
    char *class_change;    /* see job_run_take_class_change; NULL: nothing to tell */
    pthread_mutex_t mutex; /* guards slice_end_requested and, while it runs, the execution's life */
    bool slice_end_requested;
    KernelStop kernel_stop; /* of all its executions */
};

/* Before a checkpoint goes on there. */
MUST_CHECK Error *job_run_note_class(
    JobRun *run, const Container *container, const Residency *residency);
