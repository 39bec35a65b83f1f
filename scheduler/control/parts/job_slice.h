#pragma once
/* The slices of a job as the control thread sees them: what the policy grants, and what the last
 * one came to. For control_slices.c, control_slice_end.c and control_aside.c, on the control
 * thread. */
#include "scheduler/executor/job_run.h"

typedef struct JobSlice {
    uint64_t grant_bytes;
    uint64_t budget_ns;
    uint64_t resumed_ns;     /* when the job had the device last */
    uint64_t abandon_ns;     /* when the kernel that is aside is abandoned; 0: it is not */
    uint32_t abandonments;   /* how often the work of its kernels was lost for others' memory */
    bool blocked;            /* the policy was told that outputs are to be stored first */
    int64_t items_done;      /* at the last safepoint; -1: there was no run */
    JobRunCounters counters; /* the same */
} JobSlice;
