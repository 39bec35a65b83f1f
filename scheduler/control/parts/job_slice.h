#pragma once
/* The slices of a job: what the policy grants, and the result of the last slice. On the control
 * thread. Writers: slices/, jobs/control_commits.c, jobs/control_jobs.c, devices/device_losses.c.
 */
#include "scheduler/executor/job_run.h"

typedef struct JobSlice {
    uint64_t grant_bytes;
    uint64_t budget_ns;
    uint64_t resumed_ns;     /* when the job got the device last */
    uint64_t abandon_ns;     /* when the kernel of a job that is aside is abandoned; 0: never */
    uint32_t abandonments;   /* how often a kernel was abandoned because others needed memory */
    bool lent;               /* the slice runs on a thread that was lent to it */
    bool blocked;            /* the policy waits for UNBLOCKED: outputs are stored first */
    int64_t items_done;      /* at the last safepoint; -1: the job has not run here */
    JobRunCounters counters; /* at the last safepoint */
} JobSlice;
