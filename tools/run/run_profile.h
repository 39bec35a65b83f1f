#pragma once
/* Measures the time of a run by operator and kernel, and its distance from the machine's limits. An
 * instrument surrounds every call and waits for the queued work. So the times are those of single
 * calls including the wait, and nothing is written in place. Caller: run_report.c. Threads: the
 * main thread. */
#include "tools/client/command.h"
#include "vm/execution/instrument.h"

typedef struct RunProfile {
    struct ProfileRow *rows; /* NULL without a measurement */
    size_t row_count, row_capacity;
    uint64_t start_ns;
    const Execution *execution;
    uint32_t threads;
} RunProfile;

/* Attaches to an execution. threads: the number that the execution uses. */
MUST_CHECK Error *run_profile_attach(RunProfile *profile, Execution *execution, uint32_t threads);
/* Prints on standard error: the most expensive rows first, then the limits of this machine's
 * processor, measured now if the device computes on it. Prints nothing without an attachment. */
void run_profile_print(RunProfile *profile, const CommandContext *context);
void run_profile_deinit(RunProfile *profile);
#define OWN_PROFILE(name) __attribute__((cleanup(run_profile_deinit))) name
