#pragma once
/* A run that a migration opens here before its job comes (control_arrival_open and its like in
 * control.h, on the migration's thread), and the job's use of that run. On the control thread. */
#include "scheduler/control/state/control_job.h"
#include "scheduler/control/state/control_state.h"

/* Gives the job the run that was opened for it. NULL: none was. */
void control_job_take_arrival(ControlJob *job, ControlArrival *owned_arrival);
/* Called when the policy runs the job on a device. Closes a run that arrived on another device.
 * True: the run that arrived is on this device. */
bool control_job_close_arrival(ControlJob *job, uint32_t device);
/* Called when the policy moves the job to a device. True: the run that arrived is there, and the
 * move is done. False: the job is opened anew. */
bool control_job_move_arrival(ControlJob *job, uint32_t device);
