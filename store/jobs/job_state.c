#include "store/jobs/job_state.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

static_assert(JOB_STATE_MOVED == 6 && JOB_STATE_RELEASED == 7, "row_charges.def has these numbers");

static const JobStateInfo infos[JOB_STATE_COUNT] = {
#define JOB_STATE(name, number, text, class, meaning)                                              \
    [number] = {text, JOB_STATE_CLASS_##class, meaning},
#include "store/jobs/job_states.def"
};

static const struct {
    JobState from, to;
} transitions[] = {
#define JOB_TRANSITION(from, to, when) {JOB_STATE_##from, JOB_STATE_##to},
#include "store/jobs/job_states.def"
};

const JobStateInfo *job_state_info(JobState state) {
    assert(job_state_exists(state));
    return &infos[state];
}

bool job_state_is_unfinished(JobState state) {
    return job_state_info(state)->class_ == JOB_STATE_CLASS_UNFINISHED;
}

bool job_state_exists(long long number) {
    return number > JOB_STATE_NONE && number < JOB_STATE_COUNT && infos[number].name;
}

bool job_state_find(const char *name, JobState *out) {
    for (int i = JOB_STATE_NONE + 1; i < JOB_STATE_COUNT; i++)
        if (job_state_exists(i) && strcmp(infos[i].name, name) == 0) {
            *out = (JobState)i;
            return true;
        }
    return false;
}

bool job_state_find_shown(const char *name, JobState *out_stored) {
    const bool runs = strcmp(name, "running") == 0;
    return job_state_find(runs ? infos[JOB_STATE_QUEUED].name : name, out_stored);
}

bool job_state_allows(JobState from, JobState to) {
    for (size_t i = 0; i < sizeof transitions / sizeof *transitions; i++)
        if (transitions[i].from == from && transitions[i].to == to) return true;
    return false;
}
