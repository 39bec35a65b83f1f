#pragma once
/* The stored states of a job: job_states.def as code. Used by store/jobs, the control thread's
 * machines and the command line. Pure: no state, any thread. */
#include <stdbool.h>

typedef enum JobState {
    JOB_STATE_NONE = 0, /* no state of a job; in a filter: any state */
#define JOB_STATE(name, number, text, class, meaning) JOB_STATE_##name = number,
#include "store/jobs/job_states.def"
    JOB_STATE_COUNT
} JobState;

typedef enum JobStateClass {
    JOB_STATE_CLASS_UNFINISHED,
    JOB_STATE_CLASS_FINISHED,
    JOB_STATE_CLASS_TOMBSTONE,
} JobStateClass;

typedef struct JobStateInfo {
    const char *name; /* the name that users see */
    JobStateClass class_;
    const char *meaning;
} JobStateInfo;

/* state: not NONE. */
const JobStateInfo *job_state_info(JobState state);
bool job_state_is_unfinished(JobState state);
/* Returns whether a state has this number. */
bool job_state_exists(long long number);
bool job_state_find(const char *name, JobState *out);
/* Finds a stored state by the name that users see: a job that is shown as "running" is stored as
 * queued. */
bool job_state_find_shown(const char *name, JobState *out_stored);
bool job_state_allows(JobState from, JobState to);
