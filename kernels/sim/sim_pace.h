#pragma once
/* Limits the rate of bytes by waiting: for a sim device's link, and for its kernels, which are
 * modelled as bound by the bytes of their operands. Called by sim_copy.c and sim_plan.c.
 *
 * Bytes queue up behind earlier bytes. Waits that are too short for a sleep are postponed until
 * they add up. Threads: any. */
#include <stdatomic.h>
#include <stdint.h>

typedef struct SimPace {
    double ns_per_byte;       /* 0: no waiting */
    _Atomic uint64_t free_ns; /* on the monotonic clock: the time at which all earlier bytes have
                               * passed */
} SimPace;

/* bytes_per_s 0: no waiting. */
void sim_pace_init(SimPace *pace, double bytes_per_s);
/* The time at which the work on the bytes begins; 0 without waiting. */
uint64_t sim_pace_begin(const SimPace *pace);
/* Called when the work is done: waits for the rest of the bytes' time. */
void sim_pace_end(SimPace *pace, uint64_t start_ns, uint64_t bytes);
