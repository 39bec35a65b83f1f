#pragma once
/* What is stored of a job, what is being stored and what is to be stored next. For
 * control_commits.c; others add to it by the functions of their part. On the control thread. */
#include "scheduler/control/parts/control_outputs.h"
#include "scheduler/control/machines/job_durable.h"
#include "scheduler/control/machines/job_storing.h"
#include "scheduler/executor/job_run.h"
#include "store/jobs/jobs.h"

/* An event that is told of a job at most once in a while. */
typedef struct ControlRare {
    uint64_t told_ns; /* 0: never */
    uint64_t untold;  /* times since */
} ControlRare;

/* Of snapshot_on: the snapshot refers to host memory, which is never lost. */
#define JOB_SNAPSHOT_IN_HOST UINT32_MAX

typedef struct JobPending {
    JobStoring storing; /* written by control_step_storing alone */
    JobDurable durable; /* written by control_step_durable alone */
    JobState stored;    /* the row's state; NONE: there is no row yet */
    int64_t epoch;      /* the row's */
    struct JobNextState {
        JobState state; /* NONE: the state stays as it is */
        char *why;      /* NULL: there is nothing to say */
        int64_t epoch;  /* 0: the epoch stays */
    } next;
    ControlOutputs outputs;     /* not stored yet */
    ControlOutputs under_way;   /* only figures: the commit under way has the outputs */
    JobSnapshot snapshot;       /* what a checkpoint is to be written from */
    uint32_t snapshot_on;       /* 1 + the device whose memory the snapshot refers to, or
                                   JOB_SNAPSHOT_IN_HOST; 0: there is no snapshot */
    bool checkpoint_wanted;     /* at the next safepoint, also where an older snapshot waits */
    uint64_t checkpoint_due_ns; /* 0: never */
    JobTelling *tellings;       /* events that are not stored yet, in their order */
    ControlRare rare[2];        /* preempted, moved out */
} JobPending;
