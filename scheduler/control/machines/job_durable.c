#include "scheduler/control/machines/job_durable.h"

static const MachineState states[] = {
#define JOB_DURABLE(state, meaning) {#state, "", meaning},
#include "scheduler/control/machines/job_durable.def"
};

static const MachineEvent events[] = {
#define JOB_DURABLE_EVENT(event, meaning) {#event, meaning},
#include "scheduler/control/machines/job_durable.def"
};

/* Two rows of one state and event would be an initializer that is overridden: an error. */
static const uint8_t steps[JOB_DURABLE_STATE_COUNT][JOB_DURABLE_EVENT_COUNT] = {
#define JOB_DURABLE_STEP(from, event, to)                                                          \
    [JOB_DURABLE_##from][JOB_DURABLE_EVENT_##event] = 1 + JOB_DURABLE_##to,
#include "scheduler/control/machines/job_durable.def"
};

const Machine job_durable_machine = {
    .name = "job durable",
    .table = "job_durable.def",
    .meaning = "What a job begins with when its run is made anew.",
#define JOB_DURABLE_PICTURE(line) line "\n"
    .picture =
#include "scheduler/control/machines/job_durable.def"
        ,
    .columns = "",
    .states = states,
    .events = events,
    .state_count = JOB_DURABLE_STATE_COUNT,
    .event_count = JOB_DURABLE_EVENT_COUNT,
    .steps = &steps[0][0],
};

Error *job_durable_step(JobDurable *durable, JobDurableEvent event) {
    return machine_step(&job_durable_machine, (uint8_t)event, &durable->state);
}

bool job_durable_has_checkpoint(const JobDurable *durable) {
    return durable->state == JOB_DURABLE_CHECKPOINT;
}
