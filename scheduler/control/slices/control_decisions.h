#pragma once
/* Applies the events that were posted to the policy, and performs the actions that the policy
 * decides. Called once a turn by control_core.c, and by request handlers that need the policy's
 * answer at once. On the control thread. */
#include "scheduler/control/state/control_job.h"
#include "scheduler/control/state/control_state.h"

void control_apply_events(Control *control);
/* Called when the policy has forgotten a job: stores that the job is released, moved or cancelled,
 * as the job's goal says. */
void control_leave(ControlJob *job);
