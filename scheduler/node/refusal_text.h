#pragma once
/* Why the policy refuses a job or ends one, in words, with the figures. */
#include <stddef.h>

#include "scheduler/policy/policy_event.h"

enum { REFUSAL_TEXT_SIZE = 160 };

/* action: REFUSE or FAIL. */
void refusal_text_print(const PolicyAction *action, char out_text[REFUSAL_TEXT_SIZE]);
