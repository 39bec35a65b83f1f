#pragma once
/* Where the time of a run goes, by operator and kernel, and how far each is from what the machine
 * can do: an instrument around every call, which waits for what the call queued. So the times are
 * those of calls one by one, with the wait in them, and nothing is written in place. */
#include "tools/client/command.h"
#include "vm/execution/instrument.h"

typedef struct RunProfile {
    struct ProfileRow *rows; /* NULL while nothing is measured */
    size_t row_count, row_capacity;
    uint64_t start_ns;
    const Execution *execution;
    uint32_t threads;
} RunProfile;

/* threads: what the execution runs on. */
MUST_CHECK Error *run_profile_attach(RunProfile *profile, Execution *execution, uint32_t threads);
/* On standard error, the most expensive first, then the limits of this machine's processor, which
 * are measured now where the device computes on it; nothing when it was not attached. */
void run_profile_print(RunProfile *profile, const CommandContext *context);
void run_profile_deinit(RunProfile *profile);
#define OWN_PROFILE(name) __attribute__((cleanup(run_profile_deinit))) name
