#include "kernels/sim/sim_faults.h"

#include <inttypes.h>
#include <stddef.h>

void sim_faults_init(SimFaults *faults, const SimOptions *options) {
    *faults = (SimFaults){.fail_at = {[SIM_CALL_ALLOC] = options->fail_alloc,
                              [SIM_CALL_COPY] = options->fail_copy,
                              [SIM_CALL_LAUNCH] = options->fail_launch},
        .lose_after = options->lose_after};
}

static Error *fail_call(SimCall call, uint64_t number, const char *name) {
    if (call == SIM_CALL_ALLOC)
        FAIL(EXHAUSTED, "%s: allocation %" PRIu64 " failed, as fail-alloc asks", name, number);
    if (call == SIM_CALL_COPY)
        FAIL(FAILED, "%s: copy %" PRIu64 " failed, as fail-copy asks", name, number);
    FAIL(FAILED, "%s: launch %" PRIu64 " failed, as fail-launch asks", name, number);
}

Error *sim_faults_check(SimFaults *faults, SimCall call, const char *name) {
    uint64_t number = atomic_fetch_add_explicit(&faults->counts[call], 1, memory_order_relaxed) + 1;
    if (call == SIM_CALL_LAUNCH && faults->lose_after && number >= faults->lose_after)
        atomic_store_explicit(&faults->lost, true, memory_order_relaxed);
    if (atomic_load_explicit(&faults->lost, memory_order_relaxed))
        FAIL(DEVICE_LOST, "%s is lost", name);
    return number == faults->fail_at[call] ? fail_call(call, number, name) : NULL;
}
