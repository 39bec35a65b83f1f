#pragma once
/* Takes a step of a machine of machines/. A pair of state and event without a row is a bug: the
 * control thread gives up, and its error names the machine, the event and the state. Called on the
 * control thread by the files that the machine's header names. */
#include "scheduler/control/state/control_job.h"
#include "scheduler/control/state/control_state.h"
#include "scheduler/control/state/device_table.h"

void control_step_site(ControlJob *job, JobSiteEvent event);
void control_step_storing(ControlJob *job, JobStoringEvent event);
void control_step_goal(ControlJob *job, JobGoalEvent event);
void control_step_durable(ControlJob *job, JobDurableEvent event);
/* Called for a job that an earlier process or another node ran: something of its run may be stored.
 */
void control_step_durable_taken(ControlJob *job, bool has_checkpoint);
void control_step_life(Control *control, ControlLifeEvent event);
/* Locks the status mutex. */
void control_step_presence(Control *control, ControlDevice *device, DevicePresenceEvent event);
