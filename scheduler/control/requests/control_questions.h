#pragma once
/* Sends requests to the control thread; the functions of control.h that ask something are made of
 * it. Threads: any but the control thread. */
#include "scheduler/control/jobs/control_request.h"

/* Posts a request and waits for its answer. Errors: the answer; the control thread's failure. */
MUST_CHECK Error *control_send(Control *control, ControlRequest *request);
