#pragma once
/* Requests of jobs that go to another node or come from one. For control_requests.c, on the control
 * thread. */
#include "scheduler/control/jobs/control_request.h"

/* Handles MIGRATION_STOP, MIGRATION_COMMIT, MIGRATION_REVERT, ARRIVAL_OWN and ARRIVAL_ABORT. */
MUST_CHECK Error *control_handle_migration(Control *control, ControlRequest *request);
