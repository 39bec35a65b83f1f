#pragma once
/* What is being stored of a job: the machine of job_storing.def. control_commits.c and the files of
 * requests/ take its steps through control_step_storing; every other file only asks. On the control
 * thread. */
#include "scheduler/control/machines/machine.h"

typedef enum JobStoringState {
#define JOB_STORING(state, commit, room, meaning) JOB_STORING_##state,
#include "scheduler/control/machines/job_storing.def"
    JOB_STORING_STATE_COUNT
} JobStoringState;

typedef enum JobStoringEvent {
#define JOB_STORING_EVENT(event, meaning) JOB_STORING_EVENT_##event,
#include "scheduler/control/machines/job_storing.def"
    JOB_STORING_EVENT_COUNT
} JobStoringEvent;

extern const Machine job_storing_machine;

/* Zero: its first state. */
typedef struct JobStoring {
    uint8_t state; /* JobStoringState; written by job_storing_step alone */
} JobStoring;

/* Errors: INTERNAL there is no such step, which is a bug; the caller gives it to control_fail. */
MUST_CHECK Error *job_storing_step(JobStoring *storing, JobStoringEvent event);

/* A commit is under way. */
bool job_storing_is_committing(const JobStoring *storing);
/* A commit may begin. */
bool job_storing_allows_commit(const JobStoring *storing);
/* Its data has no room, and nobody has found any since. */
bool job_storing_is_stalled(const JobStoring *storing);
/* Its row is not stored. */
bool job_storing_is_new(const JobStoring *storing);
/* Nothing is stored any more. */
bool job_storing_has_ended(const JobStoring *storing);
