#include "scheduler/control/state/control_steps.h"

#include "scheduler/control/state/control_shared.h"

static void check(Control *control, Error *owned_error) {
    if (owned_error) control_fail(control, owned_error);
}

void control_step_site(ControlJob *job, JobSiteEvent event) {
    check(job->control, job_site_step(&job->site, event));
}

void control_step_storing(ControlJob *job, JobStoringEvent event) {
    check(job->control, job_storing_step(&job->pending.storing, event));
}

void control_step_goal(ControlJob *job, JobGoalEvent event) {
    check(job->control, job_goal_step(&job->asked.goal, event));
}

void control_step_durable(ControlJob *job, JobDurableEvent event) {
    check(job->control, job_durable_step(&job->pending.durable, event));
}

void control_step_durable_taken(ControlJob *job, bool has_checkpoint) {
    control_step_durable(job, JOB_DURABLE_EVENT_RUN_LOST);
    if (has_checkpoint) control_step_durable(job, JOB_DURABLE_EVENT_CHECKPOINTED);
}

void control_step_presence(Control *control, ControlDevice *device, DevicePresenceEvent event) {
    control_lock(control);
    Error *error = device_presence_step(&device->presence, event);
    control_unlock(control);
    check(control, error);
}

void control_step_life(Control *control, ControlLifeEvent event) {
    check(control, control_life_step(&control->life, event));
}
