#pragma once
/* The stored states of a job: job_states.def as code. */
#include <stdbool.h>

typedef enum JobState {
    JOB_STATE_NONE = 0, /* of no job: "any" in a filter */
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
    const char *name; /* as shown */
    JobStateClass class_;
    const char *meaning;
} JobStateInfo;

/* state: not NONE. */
const JobStateInfo *job_state_info(JobState state);
bool job_state_is_unfinished(JobState state);
/* Whether the number is one of a state's. */
bool job_state_exists(long long number);
bool job_state_find(const char *name, JobState *out);
/* The same of a state as it is shown: a queued job may be "running". */
bool job_state_find_shown(const char *name, JobState *out_stored);
bool job_state_allows(JobState from, JobState to);
