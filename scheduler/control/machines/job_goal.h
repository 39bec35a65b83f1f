#pragma once
/* What somebody wants of a job beside that it runs: the machine of job_goal.def. The files of
 * requests/, control_decisions.c and control_commits.c take its steps through control_step_goal;
 * every other file only asks. On the control thread. */
#include "scheduler/control/machines/machine.h"
#include "store/jobs/job_state.h"

typedef enum JobGoalState {
#define JOB_GOAL(state, refusal, rest, leave, slice, meaning) JOB_GOAL_##state,
#include "scheduler/control/machines/job_goal.def"
    JOB_GOAL_STATE_COUNT
} JobGoalState;

typedef enum JobGoalEvent {
#define JOB_GOAL_EVENT(event, meaning) JOB_GOAL_EVENT_##event,
#include "scheduler/control/machines/job_goal.def"
    JOB_GOAL_EVENT_COUNT
} JobGoalEvent;

extern const Machine job_goal_machine;

/* Zero: its first state. */
typedef struct JobGoal {
    uint8_t state; /* JobGoalState; written by job_goal_step alone */
} JobGoal;

/* Errors: INTERNAL there is no such step, which is a bug; the caller gives it to control_fail. */
MUST_CHECK Error *job_goal_step(JobGoal *goal, JobGoalEvent event);

/* The columns of its state, as job_goal.def describes them. */
typedef struct JobGoalInfo {
    const char *refusal;  /* "being released"; "": the stored state's name */
    JobState rest, leave; /* NONE: what is wanted stays */
    bool discards_slice;
} JobGoalInfo;

const JobGoalInfo *job_goal_info(const JobGoal *goal);
/* Whether a request makes sense now; otherwise it is refused, and no step is taken. */
bool job_goal_allows(const JobGoal *goal, JobGoalEvent request);
/* It is being written to a file that owns it, or will. */
bool job_goal_is_leaving(const JobGoal *goal);
/* It goes to another node. */
bool job_goal_is_departing(const JobGoal *goal);
