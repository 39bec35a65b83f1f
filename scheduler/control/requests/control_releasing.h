#pragma once
/* Requests of jobs that are released into a file, which owns the job from then on. For
 * control_requests.c, on the control thread. */
#include "scheduler/control/jobs/control_request.h"

/* Handles FREEZE, RELEASE and THAW. */
MUST_CHECK Error *control_handle_release(Control *control, ControlRequest *request);
