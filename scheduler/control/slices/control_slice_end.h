#pragma once
/* What follows from a slice that has ended: outputs and a snapshot are taken, the policy is told,
 * and the job is stored. On the control thread. */
#include "scheduler/control/state/control_job.h"

/* Handles JobHold.slice_ended. */
void control_handle_slice_ended(void *context, Message *message);
/* The job fails for that reason. */
void control_fail_job(ControlJob *job, Error *owned_error);
/* Tells the policy to suspend a job whose submission asked for a suspend after a time. */
void control_suspend_due(ControlJob *job);
/* When control_suspend_due is due; 0: never. */
uint64_t control_suspend_due_ns(const ControlJob *job);
