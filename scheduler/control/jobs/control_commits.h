#pragma once
/* Stores jobs: one commit of a job is under way at a time, with outputs, progress, a checkpoint,
 * events and a state. Called by every file that changes what a job has to store, on the control
 * thread; the store's answer comes back to this file. */
#include "scheduler/control/state/control_job.h"
#include "scheduler/control/state/control_state.h"

/* For control_commits.c alone. */
typedef struct CommitQueue {
    uint64_t retry_ns;       /* when stalled commits are tried again; 0: no job is stalled */
    uint64_t retry_after_ns; /* how long the commit that stalled last waits */
} CommitQueue;

/* Begins a commit if the job has something to store and no commit is under way. The end of a commit
 * calls this function again. */
void control_commit(ControlJob *job);
/* Sets the state that the next commit stores, and begins that commit. why: the reason; may be
 * NULL. */
void control_want_state(ControlJob *job, JobState state, const char *why);
/* Tries stalled commits again. */
void control_retry_commits(Control *control, uint64_t now_ns);
/* When control_retry_commits is due; 0: never. */
uint64_t control_retry_due_ns(const Control *control);
