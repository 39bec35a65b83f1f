#pragma once
/* Jobs come in, are refused with the figure named, wait, are suspended, resumed, cancelled, end. */
#include "scheduler/policy/policy_internal.h"

/* Handlers of the events of the same name. Errors: as policy_apply's. */
MUST_CHECK Error *admission_set_tenant(Policy *policy, const PolicyEvent *event);
MUST_CHECK Error *admission_submit(Policy *policy, const PolicyEvent *event);
MUST_CHECK Error *admission_suspend(Policy *policy, Job *job);
MUST_CHECK Error *admission_resume(Policy *policy, Job *job, uint64_t device);
MUST_CHECK Error *admission_cancel(Policy *policy, Job *job);
MUST_CHECK Error *admission_unblock(Policy *policy, Job *job);

/* The job waits for a device: in the pool, or for the one it demands. It is in no queue before. */
MUST_CHECK Error *admission_wait(Policy *policy, Job *job);
/* It is suspended, as asked. It is in no queue, on no device, not in host memory. */
MUST_CHECK Error *admission_suspended(Policy *policy, Job *job);
/* The job is over: whatever it holds is free, and it is forgotten. action: RELEASE, or 0 for none.
 */
MUST_CHECK Error *admission_end(Policy *policy, Job *job, PolicyActionKind action);
/* The device is gone with the job's state on it: back to the last checkpoint. */
MUST_CHECK Error *admission_throw_back(Policy *policy, Job *job);
