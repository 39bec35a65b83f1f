#pragma once
/* Where the time of a run goes, by operator: an instrument around every call, which waits for what
 * the call queued. */
#include "tools/command.h"
#include "vm/instrument.h"

typedef struct RunProfile {
    struct ProfileRow *rows; /* NULL while nothing is measured */
    size_t row_count, row_capacity;
    uint64_t start_ns;
    const Execution *execution;
} RunProfile;

MUST_CHECK Error *run_profile_attach(RunProfile *profile, Execution *execution);
/* On standard error, the most expensive first; nothing when it was not attached. */
void run_profile_print(RunProfile *profile, const CommandContext *context);
void run_profile_deinit(RunProfile *profile);
#define OWN_PROFILE(name) __attribute__((cleanup(run_profile_deinit))) name
