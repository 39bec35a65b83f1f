#pragma once
/* The life of a job in the policy: submitted or refused with the figure named, waiting, suspended,
 * resumed, cancelled, ended. Called by policy.c and the other files of policy/. No state but the
 * Policy that is passed; on the thread that owns it. */
#include "scheduler/policy/policy_state.h"

/* Handlers of the events of the same name. Errors: as policy_apply's. */
MUST_CHECK Error *admission_set_tenant(Policy *policy, const PolicyEvent *event);
MUST_CHECK Error *admission_submit(Policy *policy, const PolicyEvent *event);
MUST_CHECK Error *admission_suspend(Policy *policy, Job *job);
MUST_CHECK Error *admission_resume(Policy *policy, Job *job, uint64_t device);
MUST_CHECK Error *admission_cancel(Policy *policy, Job *job);
MUST_CHECK Error *admission_unblock(Policy *policy, Job *job);

/* Puts a job that is in no queue where it waits for a device: in the pool, or in the queue of the
 * device that it demands. */
MUST_CHECK Error *admission_wait(Policy *policy, Job *job);
/* Marks the job suspended, as was asked for. The job is in no queue, on no device and not in host
 * memory. */
MUST_CHECK Error *admission_suspended(Policy *policy, Job *job);
/* Ends the job: frees all that the job holds and forgets the job. action: RELEASE, or 0 for
 * none. */
MUST_CHECK Error *admission_end(Policy *policy, Job *job, PolicyActionKind action);
/* Sets the job back to its last checkpoint, because the device that held the job's state is
 * lost. */
MUST_CHECK Error *admission_throw_back(Policy *policy, Job *job);
