#pragma once
/* Slices: chooses the job that gets a device next, and handles the end of a slice. Called by
 * policy.c and device_life.c; no state but the Policy that is passed. */
#include "scheduler/policy/policy_state.h"

/* Chooses the next job for a free device: floors that are due first, then class by class. */
MUST_CHECK Error *dispatch_decide(Policy *policy, Device *device);
/* Stops the running slice in favour of a job of a higher class that has just become ready on the
 * device. */
MUST_CHECK Error *dispatch_preempt(Policy *policy, Device *device);
/* Handles SLICE_ENDED of a job that runs on a device. */
MUST_CHECK Error *dispatch_slice_ended(Policy *policy, Job *job, const PolicyEvent *event);
/* Ends the running slice of a lost device with a device-time of 0. */
void dispatch_lose_slice(Policy *policy, Device *device);
