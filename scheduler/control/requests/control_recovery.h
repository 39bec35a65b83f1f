#pragma once
/* Jobs that the store holds and memory does not: taken up at the start, one at a time later, or
 * refused by their state. For control_core.c and request handlers, on the control thread. */
#include "scheduler/control/jobs/control_request.h"
#include "scheduler/control/state/control_job.h"

/* Takes up every unfinished job of the store. Called before the first turn. */
MUST_CHECK Error *control_recover(Control *control);
/* Takes up a job that somebody else stored since. */
MUST_CHECK Error *control_load_row(Control *control, TenantId tenant, JobId id);
/* The error for a job that is not in memory: CONFLICT with its state, or NOT_FOUND. what: "resume".
 */
MUST_CHECK Error *control_fail_absent(
    Control *control, const ControlRequest *request, const char *what);
/* Finds the request's job. A job that is held in the store alone, since it could not go on, is
 * taken up. Errors: as control_fail_absent; the reason why the job still cannot go on. */
MUST_CHECK Error *control_find_held(
    Control *control, const ControlRequest *request, const char *what, ControlJob **out_job);
/* Cancels a job that is held in the store alone. Errors: as control_fail_absent. */
MUST_CHECK Error *control_cancel_absent(Control *control, ControlRequest *request);
