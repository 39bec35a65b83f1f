#pragma once
/* Faults of a sim device that its SPEC asks for, so that the layers above can be tested with them.
 * Called by sim_device.c.
 *
 * Calls of a kind are counted from 1. The N-th one named by fail-… fails once, as a real device's
 * would: an allocation with EXHAUSTED, a copy or launch with FAILED. At launch lose-after the
 * device is lost: that launch and every later call fail with DEVICE_LOST; freeing memory still
 * works.
 *
 * Threads: any. */
#include <stdatomic.h>

#include "kernels/sim/sim_options.h"

typedef enum SimCall {
    SIM_CALL_ALLOC,
    SIM_CALL_COPY,
    SIM_CALL_LAUNCH,
    SIM_CALL_OTHER, /* fails only when the device is lost */
    SIM_CALL_COUNT
} SimCall;

typedef struct SimFaults {
    uint64_t fail_at[SIM_CALL_COUNT]; /* 0: none fails */
    uint64_t lose_after;              /* 0: never */
    _Atomic uint64_t counts[SIM_CALL_COUNT];
    atomic_bool lost;
} SimFaults;

void sim_faults_init(SimFaults *faults, const SimOptions *options);
/* Called before the call's work; name: the device's, for the message. */
MUST_CHECK Error *sim_faults_check(SimFaults *faults, SimCall call, const char *name);
