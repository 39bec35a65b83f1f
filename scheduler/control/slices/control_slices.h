#pragma once
/* Slices as the policy wants them: a job is opened, runs on a device, and is taken back. For
 * control_decisions.c, control_requests.c and control_core.c, on the control thread. */
#include "scheduler/control/state/control_job.h"
#include "scheduler/control/state/control_state.h"

/* Runs a job on a device. A job that is not open is opened first by an I/O thread. budget_ns: of
 * the slice; 0: the slice ends by itself. */
void control_run_job(ControlJob *job, uint32_t device, uint64_t budget_ns);
/* Takes the device back from a job: its slice ends soon, or does not begin. */
void control_preempt_job(ControlJob *job);
/* Called when a new job's row was committed or refused. Opens a job whose slice waits for the
 * row. */
void control_open_stored(ControlJob *job, bool stored);
/* Asks slices to end whose time is over. */
void control_end_due_slices(Control *control, uint64_t now_ns);
/* When control_end_due_slices is due; 0: never. */
uint64_t control_slices_due_ns(const Control *control);
