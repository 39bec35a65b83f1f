#pragma once
/* What people asked of a job: its goal, who waits, and the times that its submission named. For
 * control_requests.c, control_releasing.c and control_migration.c, on the control thread. */
#include "scheduler/control/machines/job_goal.h"
#include "store/jobs/jobs.h"

/* Of suspend_due_ns: the job was suspended once, so policy.suspend_after_ns is over. */
#define JOB_SUSPEND_PASSED UINT64_MAX

struct ControlRequest;

typedef enum JobDeadline { JOB_DEADLINE_NONE, JOB_DEADLINE_AHEAD, JOB_DEADLINE_MISSED } JobDeadline;

typedef struct JobAsked {
    JobGoal goal;                   /* written by control_step_goal alone */
    char *halt_why;                 /* what of the job had no room; NULL: nothing */
    char depart_why[JOB_WHY_SIZE];  /* why it goes to another node, or is another node's */
    uint64_t resume_device;         /* that a resumed job demands; POLICY_NO_DEVICE: any */
    struct ControlRequest *waiters; /* for the next checkpoint or state */
    uint64_t suspend_asked_ns;      /* for the histogram; 0: nobody asked */
    uint64_t suspend_due_ns;        /* 0: not yet; JOB_SUSPEND_PASSED: never again */
    JobDeadline deadline_state;
} JobAsked;
