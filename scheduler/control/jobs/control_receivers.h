#pragma once
/* The ends of transient jobs, which have no row: they go to the receivers that submitted the jobs.
 * On the control thread. */
#include "scheduler/control/control.h"
#include "scheduler/control/state/control_job.h"

/* Gives the receiver the end that a commit would have stored: the outputs, or the failure. Called
 * once the job has ended. */
void control_receive_end(ControlJob *job, StoreCommit *commit);
/* Gives the receiver of a job that does not go on an error. Nothing happens for a job without a
 * receiver, or whose receiver has got its end. */
void control_receive_error(ControlJob *job, Error *owned_error);
/* Takes the outputs of a slice. Of all outputs of a transient job only the last one is kept: a
 * function's result comes after what it yields. */
void control_take_outputs(ControlJob *job);
