#pragma once
/* What a job begins with when its run is made anew: the machine of job_durable.def. For
 * control_commits.c, control_devices.c, control_requests.c and control_recovery.c, which take its
 * steps; everybody else reads the state. On the control thread. */
#include "scheduler/control/machines/machine.h"

typedef enum JobDurableState {
#define JOB_DURABLE(state, meaning) JOB_DURABLE_##state,
#include "scheduler/control/machines/job_durable.def"
    JOB_DURABLE_STATE_COUNT
} JobDurableState;

typedef enum JobDurableEvent {
#define JOB_DURABLE_EVENT(event, meaning) JOB_DURABLE_EVENT_##event,
#include "scheduler/control/machines/job_durable.def"
    JOB_DURABLE_EVENT_COUNT
} JobDurableEvent;

extern const Machine job_durable_machine;

/* Zero: its first state. */
typedef struct JobDurable {
    uint8_t state; /* JobDurableState; written by job_durable_step alone */
} JobDurable;

/* Errors: INTERNAL there is no such step, which is a bug; the caller gives it to control_fail. */
MUST_CHECK Error *job_durable_step(JobDurable *durable, JobDurableEvent event);

/* It begins with its newest checkpoint. */
bool job_durable_has_checkpoint(const JobDurable *durable);
