#pragma once
/* Devices in the policy: added, lost, and decided about whenever something about them changed.
 * Called by policy.c; no state but the Policy that is passed. */
#include "scheduler/policy/policy_state.h"

MUST_CHECK Error *device_life_add(Policy *policy, const PolicyEvent *event);
MUST_CHECK Error *device_life_lose(Policy *policy, Device *device);
/* Decides about one device: first jobs that need more memory, then jobs that arrive, then the next
 * slice. */
MUST_CHECK Error *device_life_decide(Policy *policy, Device *device);
