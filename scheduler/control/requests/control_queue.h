#pragma once
/* A place in the policy's queue for one more job of a tenant. For control_requests.c, on the
 * control thread. */
#include "scheduler/control/state/control_state.h"

/* The error of a job that the policy refused: EXHAUSTED or NOT_FOUND, with the figures. */
MUST_CHECK Error *control_fail_refused(const PolicyAction *refusal);
/* Asks the policy whether the tenant may queue one more job. Errors: EXHAUSTED. */
MUST_CHECK Error *control_check_place(Control *control, TenantId tenant);
