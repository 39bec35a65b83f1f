#include "scheduler/control/machines/job_storing.h"

static const MachineState states[] = {
#define JOB_STORING(state, commit, room, meaning) {#state, #commit " | " #room, meaning},
#include "scheduler/control/machines/job_storing.def"
};

static const MachineEvent events[] = {
#define JOB_STORING_EVENT(event, meaning) {#event, meaning},
#include "scheduler/control/machines/job_storing.def"
};

/* Two rows of one state and event would be an initializer that is overridden: an error. */
static const uint8_t steps[JOB_STORING_STATE_COUNT][JOB_STORING_EVENT_COUNT] = {
#define JOB_STORING_STEP(from, event, to)                                                          \
    [JOB_STORING_##from][JOB_STORING_EVENT_##event] = 1 + JOB_STORING_##to,
#include "scheduler/control/machines/job_storing.def"
};

const Machine job_storing_machine = {
    .name = "job storing",
    .table = "job_storing.def",
    .meaning = "What is being stored of a job.",
#define JOB_STORING_PICTURE(line) line "\n"
    .picture =
#include "scheduler/control/machines/job_storing.def"
        ,
    .columns = "commit | room",
    .states = states,
    .events = events,
    .state_count = JOB_STORING_STATE_COUNT,
    .event_count = JOB_STORING_EVENT_COUNT,
    .steps = &steps[0][0],
};

enum { COMMIT_NONE, COMMIT_BUSY };
enum { ROOM_ENOUGH, ROOM_SHORT };

static const struct {
    uint8_t commit, room;
} columns[] = {
#define JOB_STORING(state, commit, room, meaning) {COMMIT_##commit, ROOM_##room},
#include "scheduler/control/machines/job_storing.def"
};

Error *job_storing_step(JobStoring *storing, JobStoringEvent event) {
    return machine_step(&job_storing_machine, (uint8_t)event, &storing->state);
}

bool job_storing_is_committing(const JobStoring *storing) {
    return columns[storing->state].commit == COMMIT_BUSY;
}

bool job_storing_allows_commit(const JobStoring *storing) {
    return machine_has_step(&job_storing_machine, storing->state, JOB_STORING_EVENT_COMMIT);
}

bool job_storing_is_stalled(const JobStoring *storing) {
    return columns[storing->state].room == ROOM_SHORT;
}

bool job_storing_is_new(const JobStoring *storing) { return storing->state == JOB_STORING_NEW; }

bool job_storing_has_ended(const JobStoring *storing) {
    return storing->state == JOB_STORING_ENDED;
}
