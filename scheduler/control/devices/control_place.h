#pragma once
/* Which device a job may have: that its model can run on, by what its executable needs. On the
 * control thread; in control_devices.c. */
#include "scheduler/control/state/control_internal.h"

/* The first that computes in host memory: it is never lost, and takes nothing from the others.
 * NULL: there is none, and out_index stays. */
const ControlDevice *control_find_cpu(const Control *control, uint32_t *out_index);
/* The device that a job demands by name, which is one that can run its model; for none, the one
 * that it has to have, or POLICY_NO_DEVICE where all can run it. Errors: NOT_FOUND; UNSUPPORTED. */
MUST_CHECK Error *control_job_find_device(
    const ControlJob *job, const char *name, uint64_t *out_device);
/* The same for a job that was taken in before: a device that is gone or cannot run it is as good as
 * none. False: no device here can run it; it is suspended, and its state says why. */
bool control_job_place(ControlJob *job, const char *name, uint64_t *out_device);
