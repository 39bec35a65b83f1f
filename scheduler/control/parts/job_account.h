#pragma once
/* The account of a job: its times, its phase, and the status that other threads are shown. Other
 * threads read phase and status with the status mutex; everything else is the control thread's.
 * Writers: devices/device_losses.c, jobs/control_jobs.c, jobs/control_status.c,
 * jobs/control_tellings.c, requests/control_recovery.c, requests/control_requests.c,
 * slices/control_moves.c, slices/control_slices.c, state/control_accounts.c. */
#include "scheduler/executor/job_run.h"

/* The phase of an unfinished job, by which tenants' jobs are counted. */
typedef enum ControlPhase {
    CONTROL_PHASE_NONE, /* the job is not stored yet, or has ended */
    CONTROL_PHASE_WAITING,
    CONTROL_PHASE_RUNNING,
    CONTROL_PHASE_ENDING, /* the job's end is being stored; the job counts in no quota any more */
    CONTROL_PHASE_SUSPENDED,
    CONTROL_PHASE_HELD,
    CONTROL_PHASE_COUNT
} ControlPhase;

/* What people are shown of a job beside its stored state. */
typedef enum JobShown {
    JOB_SHOWN_QUEUED,
    JOB_SHOWN_RUNNING, /* also between two slices */
    JOB_SHOWN_HALTED   /* the job's data has no room, and the job does not run */
} JobShown;

typedef struct JobAccount {
    uint64_t device_ns; /* since this process took the job up */
    double device_seconds_before;
    double submitted; /* seconds since 1970; only of a job that was submitted to this process */
    double started;   /* seconds since 1970; NaN: not yet */
    /* Times of the monotonic clock, for histograms; 0: there is nothing to measure. */
    uint64_t submitted_ns, started_ns, move_in_ns, switched_from_ns;
    uint32_t told_device; /* 1 + the device that the last RUNNING event named; 0: none */
    ControlPhase phase; /* in which the job is counted; guarded by the status mutex, as is status */
    struct ControlJobStatus {
        JobShown shown;
        uint32_t device;
        uint64_t demanded;
        int64_t items_done;
        double device_seconds;
        JobRunCounters counters;
        char *waits_for;     /* what keeps the job's data from being stored; NULL: nothing */
        double promised_end; /* seconds since 1970; 0: nothing was promised */
    } status;
} JobAccount;
