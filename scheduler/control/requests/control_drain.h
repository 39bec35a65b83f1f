#pragma once
/* The drain at a daemon's end: slices end and checkpoints are stored, as long as the time lasts.
 * For control_requests.c and control_core.c, on the control thread; what control.h declares, on
 * any. */
#include <stdatomic.h>

#include "scheduler/control/jobs/control_request.h"
#include "scheduler/control/state/control_state.h"

/* For control_drain.c alone. */
typedef struct ControlDrain {
    ControlRequest *drainer; /* the request that waits for the drain's end; NULL: none */
    uint64_t grace_end_ns;
    char *left;               /* a line for each job that has not stopped; NULL: none */
    atomic_bool refuses_jobs; /* the node is to become empty; written by any thread */
} ControlDrain;

void control_drain_deinit(ControlDrain *drain);

/* Handles a request of kind DRAIN. */
void control_begin_drain(Control *control, ControlRequest *request);
/* Ends the drain when everything is stored or the time is over. */
void control_go_on_draining(Control *control);
/* When control_go_on_draining is due; 0: never. */
uint64_t control_drain_due_ns(const Control *control);
/* Called when the control thread has given up: answers the drain and every request that waits for a
 * job with the failure. */
void control_answer_failed(Control *control);
