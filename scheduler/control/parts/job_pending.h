#pragma once
/* What is stored of a job, what is being stored, and what is stored next. control_commits.c moves
 * these members into commits; other files add to them through control_want_state, control_tell,
 * control_job_take_snapshot and their like. On the control thread. Writers: jobs/control_commits.c,
 * jobs/control_jobs.c, requests/, slices/control_slice_end.c, slices/control_slices.c,
 * devices/device_losses.c. */
#include "scheduler/control/parts/control_outputs.h"
#include "scheduler/control/machines/job_durable.h"
#include "scheduler/control/machines/job_storing.h"
#include "scheduler/executor/job_run.h"
#include "store/jobs/jobs.h"

/* An event that is told at most once in a while: control_tell_rarely. */
typedef struct ControlRare {
    uint64_t told_ns; /* 0: never */
    uint64_t untold;  /* how often the event came since, untold */
} ControlRare;

/* Of snapshot_on: the snapshot refers to host memory, which is never lost. */
#define JOB_SNAPSHOT_IN_HOST UINT32_MAX

typedef struct JobPending {
    JobStoring storing; /* written by control_step_storing alone */
    JobDurable durable; /* written by control_step_durable alone */
    JobState stored;    /* the row's state; NONE: there is no row yet */
    int64_t epoch;      /* of the row */
    struct JobNextState {
        JobState state; /* NONE: the state stays as it is */
        char *why;      /* NULL: the state has no reason */
        int64_t epoch;  /* 0: the epoch stays */
    } next;
    ControlOutputs outputs;     /* for the next commit */
    ControlOutputs under_way;   /* count and bytes of the outputs in the commit under way */
    JobSnapshot snapshot;       /* the next commit writes a checkpoint from it */
    uint32_t snapshot_on;       /* 1 + the device whose memory the snapshot refers to, or
                                   JOB_SNAPSHOT_IN_HOST; 0: there is no snapshot */
    uint64_t snapshot_ns;       /* when the snapshot was taken */
    bool checkpoint_wanted;     /* take a snapshot at the next safepoint, even if one waits */
    uint64_t checkpoint_due_ns; /* 0: never */
    JobTelling *tellings;       /* events for the next commit, in their order */
    ControlRare rare[2];        /* preempted, moved out */
} JobPending;
