#include "scheduler/control/machines/job_goal.h"

static const MachineState states[] = {
#define JOB_GOAL(state, refusal, rest, leave, slice, meaning)                                      \
    {#state, refusal " | " #rest " | " #leave " | " #slice, meaning},
#include "scheduler/control/machines/job_goal.def"
};

static const MachineEvent events[] = {
#define JOB_GOAL_EVENT(event, meaning) {#event, meaning},
#include "scheduler/control/machines/job_goal.def"
};

/* Two rows of one state and event would be an initializer that is overridden: an error. */
static const uint8_t steps[JOB_GOAL_STATE_COUNT][JOB_GOAL_EVENT_COUNT] = {
#define JOB_GOAL_STEP(from, event, to)                                                             \
    [JOB_GOAL_##from][JOB_GOAL_EVENT_##event] = 1 + JOB_GOAL_##to,
#include "scheduler/control/machines/job_goal.def"
};

const Machine job_goal_machine = {
    .name = "job goal",
    .table = "job_goal.def",
    .meaning = "What somebody wants of a job beside that it runs.",
#define JOB_GOAL_PICTURE(line) line "\n"
    .picture =
#include "scheduler/control/machines/job_goal.def"
        ,
    .columns = "refusal | rest | leave | slice",
    .states = states,
    .events = events,
    .state_count = JOB_GOAL_STATE_COUNT,
    .event_count = JOB_GOAL_EVENT_COUNT,
    .steps = &steps[0][0],
};

enum { SLICE_KEEP, SLICE_DISCARD };

static const JobGoalInfo infos[] = {
#define JOB_GOAL(state, refusal, rest, leave, slice, meaning)                                      \
    {refusal, JOB_STATE_##rest, JOB_STATE_##leave, SLICE_##slice == SLICE_DISCARD},
#include "scheduler/control/machines/job_goal.def"
};

Error *job_goal_step(JobGoal *goal, JobGoalEvent event) {
    return machine_step(&job_goal_machine, (uint8_t)event, &goal->state);
}

const JobGoalInfo *job_goal_info(const JobGoal *goal) { return &infos[goal->state]; }

bool job_goal_allows(const JobGoal *goal, JobGoalEvent request) {
    return machine_has_step(&job_goal_machine, goal->state, (uint8_t)request);
}

bool job_goal_is_leaving(const JobGoal *goal) {
    return goal->state == JOB_GOAL_FROZEN || goal->state == JOB_GOAL_RELEASING;
}

bool job_goal_is_departing(const JobGoal *goal) {
    return goal->state == JOB_GOAL_DEPARTING || goal->state == JOB_GOAL_DEPARTING_STALLED ||
           goal->state == JOB_GOAL_TRANSFERRING;
}
