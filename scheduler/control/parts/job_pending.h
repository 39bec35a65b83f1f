#pragma once
/* What is stored of a job, what is being stored, and what is stored next. control_commits.c moves
 * these members into commits; other files add to them through control_want_state, control_tell,
 * control_job_take_snapshot and their like. On the control thread. Writers: jobs/control_commits.c,
 * jobs/control_jobs.c, requests/, slices/control_slice_end.c, slices/control_slices.c,
 * devices/device_losses.c. */
#include "scheduler/control/parts/control_outputs.h"
#include "scheduler/control/parts/pending_snapshot.h"
#include "scheduler/control/machines/job_durable.h"
#include "scheduler/control/machines/job_storing.h"
#include "scheduler/executor/job_run.h"
#include "store/jobs/jobs.h"

/* An event that is told at most once in a while: control_tell_rarely. */
typedef struct ControlRare {
    uint64_t told_ns; /* 0: never */
    uint64_t untold;  /* how often the event came since, untold */
} ControlRare;

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
    PendingSnapshot snapshot;   /* the next commit writes a checkpoint from it */
    bool checkpoint_wanted;     /* take a snapshot at the next safepoint, even if one waits */
    uint64_t checkpoint_due_ns; /* 0: never */
    JobTelling *tellings;       /* events for the next commit, in their order */
    ControlRare rare[2];        /* preempted, moved out */
} JobPending;
