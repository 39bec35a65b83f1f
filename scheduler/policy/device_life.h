#pragma once
/* Devices come, are lost, come back, and are looked at whenever something about them changed. */
#include "scheduler/policy/policy_internal.h"

MUST_CHECK Error *device_life_add(Policy *policy, const PolicyEvent *event);
MUST_CHECK Error *device_life_lose(Policy *policy, Device *device);
/* Decides about one device: jobs that grow, jobs that arrive, the next slice. */
MUST_CHECK Error *device_life_decide(Policy *policy, Device *device);
