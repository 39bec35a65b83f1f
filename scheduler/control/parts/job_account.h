#pragma once
/* What is counted of a job, and what other threads see of it. For control_accounts.c and
 * control.c. On the control thread; other threads read phase and status with the status mutex. */
#include "scheduler/executor/job_run.h"

/* Where an unfinished job is, for those who count. */
typedef enum ControlPhase {
    CONTROL_PHASE_NONE, /* not stored yet, or over */
    CONTROL_PHASE_WAITING,
    CONTROL_PHASE_RUNNING,
    CONTROL_PHASE_ENDING, /* its end is being stored; it counts in no quota any more */
    CONTROL_PHASE_SUSPENDED,
    CONTROL_PHASE_HELD,
    CONTROL_PHASE_COUNT
} ControlPhase;

/* What others are told of a job beside its stored state. */
typedef enum JobShown {
    JOB_SHOWN_QUEUED,
    JOB_SHOWN_RUNNING, /* also while it is sliced out for a moment */
    JOB_SHOWN_HALTED   /* its data has no room, and it does not run */
} JobShown;

typedef struct JobAccount {
    uint64_t device_ns; /* since this process has the job */
    double device_seconds_before;
    double submitted; /* seconds since 1970; not of a job that is older than this process */
    double started;   /* seconds since 1970; NaN: not yet */
    /* On the monotonic clock, for histograms; 0: there is nothing to be measured. */
    uint64_t submitted_ns, move_in_ns, switched_from_ns;
    uint32_t told_device; /* where the job was last said to run, plus 1; 0: nowhere */
    ControlPhase phase;   /* as the job is counted; guarded by status_mutex, as is the next */
    struct ControlJobStatus {
        JobShown shown;
        uint32_t device;
        uint64_t demanded;
        int64_t items_done;
        double device_seconds;
        JobRunCounters counters;
        char *waits_for;     /* NULL: nothing */
        double promised_end; /* seconds since 1970; 0: nothing was promised */
    } status;
} JobAccount;
