#pragma once
/* Slices: which job gets the device now, and what the end of a slice means. */
#include "scheduler/policy/policy_internal.h"

/* The device is free: floors that are due first, then class by class. */
MUST_CHECK Error *dispatch_decide(Policy *policy, Device *device);
/* Stops a slice for a job of a higher class that has just become ready here. */
MUST_CHECK Error *dispatch_preempt(Policy *policy, Device *device);
/* SLICE_ENDED; the job runs on that device. */
MUST_CHECK Error *dispatch_slice_ended(Policy *policy, Job *job, const PolicyEvent *event);
/* The device is lost under a running slice: it took no time. */
void dispatch_lose_slice(Policy *policy, Device *device);
