#pragma once
/* The requests that wait for a job, and their answers. Request handlers make a request wait;
 * control_commits.c answers it when the state or the checkpoint that it waits for is stored. On the
 * control thread. */
#include "scheduler/control/jobs/control_request.h"
#include "scheduler/control/state/control_job.h"
#include "scheduler/control/state/control_state.h"

enum { CONTROL_WAITERS_MAX = 64 }; /* requests of one kind that wait for one job */

/* For control_waiters.c alone. */
typedef struct ControlWaits {
    uint64_t late_ns; /* when a request may have waited too long; 0: none waits */
} ControlWaits;

/* Gives a request back to its sender. Nothing may look at the request behind this. */
void control_answer(ControlRequest *request, Error *owned_error);
/* Lets a request wait for the job's next state or checkpoint. Errors: EXHAUSTED
 * CONTROL_WAITERS_MAX of its kind wait already. */
MUST_CHECK Error *control_wait_for(ControlJob *job, ControlRequest *request);

/* Answers all requests that wait for the job, each with its own copy of the error. */
void control_answer_waiters(ControlJob *job, const Error *error);
/* Called when a state of the job is stored: requests that wait for that state succeed; the others
 * are told the state, but for those whose state is about to be stored. */
void control_answer_state(ControlJob *job);
/* Called when a checkpoint is stored: requests for one that came until it was taken succeed. The
 * others wait for the next checkpoint. */
void control_answer_checkpoint(ControlJob *job, uint64_t until_ns);
/* Called when a commit finds no room: everybody is told, but for requests that cancel the job,
 * since the cancellation is tried without the data that had no room. */
void control_answer_stalled(ControlJob *job, const Error *error);
/* Called when the daemon stops: requests whose state was not reached are told so. */
void control_answer_drained(ControlJob *job);

/* Answers requests that have waited too long for a kernel which is still computing. */
void control_answer_late(Control *control, uint64_t now_ns);
/* When control_answer_late is due; 0: no request waits. */
uint64_t control_late_due_ns(const Control *control);
