#pragma once
/* The policy's reason for refusing or ending a job, as a sentence with the figures. Called by
 * control_accounts.c and control_decisions.c. Pure: no state. */
#include <stddef.h>

#include "scheduler/policy/policy_event.h"

enum { REFUSAL_TEXT_SIZE = 160 };

/* action: REFUSE or FAIL. */
void refusal_text_print(const PolicyAction *action, char out_text[REFUSAL_TEXT_SIZE]);
