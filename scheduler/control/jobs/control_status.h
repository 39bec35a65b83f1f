#pragma once
/* What others are shown of a job: where it runs, how far it is, what it waits for. Written on the
 * control thread; control_find_status and control_explain of control.h show it to any. */
#include "scheduler/control/state/control_job.h"

/* Shows the job as it is now, counts it in its phase, and tells the listener. Locks the status
 * mutex. Called when a message or an action may have changed the job. */
void control_update_status(ControlJob *job);
/* Shows what the job waits for: the words and the error's message behind them. error NULL: the job
 * waits for nothing. Locks the status mutex. */
void control_set_waiting(ControlJob *job, const char *words, const Error *error);
