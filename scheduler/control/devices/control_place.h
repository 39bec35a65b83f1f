#pragma once
/* The device that a job may have: one that can run its model. For request handlers and
 * control_recovery.c, on the control thread. */
#include "scheduler/control/state/control_job.h"

/* The device that the job demands by name, if that device can run its model. NULL and "": the
 * device that the model needs, or POLICY_NO_DEVICE where every device can run it. Errors:
 * NOT_FOUND; UNSUPPORTED. */
MUST_CHECK Error *control_job_find_device(
    const ControlJob *job, const char *name, uint64_t *out_device);
/* The same for a job that was accepted earlier: a device that is gone or cannot run the model
 * counts as none. False: no device here can run the job; the job is suspended with that reason. */
bool control_job_place(ControlJob *job, const char *name, uint64_t *out_device);
