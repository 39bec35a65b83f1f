#pragma once
/* What people asked of a job: its goal, the requests that wait, and the times that its submission
 * named. On the control thread. Writers: requests/, jobs/control_commits.c,
 * jobs/control_tellings.c, jobs/control_waiters.c, slices/control_slice_end.c,
 * slices/control_slices.c. */
#include "scheduler/control/machines/job_goal.h"
#include "store/jobs/jobs.h"

/* Of suspend_due_ns: the job was suspended once, so its policy.suspend_after_ns is used up. */
#define JOB_SUSPEND_PASSED UINT64_MAX

struct ControlRequest;

typedef enum JobDeadline { JOB_DEADLINE_NONE, JOB_DEADLINE_AHEAD, JOB_DEADLINE_MISSED } JobDeadline;

typedef struct JobAsked {
    JobGoal goal;                   /* written by control_step_goal alone */
    char *halt_why;                 /* why the job's data had no room; NULL: it had */
    char depart_why[JOB_WHY_SIZE];  /* why the job goes to another node, or went there */
    uint64_t resume_device;         /* the device that a resume demands; POLICY_NO_DEVICE: any */
    struct ControlRequest *waiters; /* requests that wait for the next checkpoint or state */
    uint64_t suspend_asked_ns;      /* when a suspend was asked for; 0: none was */
    uint64_t suspend_due_ns;        /* 0: not known yet; JOB_SUSPEND_PASSED: never again */
    JobDeadline deadline_state;
} JobAsked;
