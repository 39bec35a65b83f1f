#pragma once
/* Something that bytes pass at a rate, kept by waiting: a sim device's link, or its kernels, which
 * are taken to be bound by the bytes of their operands.
 *
 * What passes queues up behind what passed before. Waits too short for a sleep are put off until
 * they add up. Threads: any. */
#include <stdatomic.h>
#include <stdint.h>

typedef struct SimPace {
    double ns_per_byte;       /* 0: nothing waits */
    _Atomic uint64_t free_ns; /* on the monotonic clock: all that came so far has passed */
} SimPace;

/* bytes_per_s 0: nothing waits. */
void sim_pace_init(SimPace *pace, double bytes_per_s);
/* When the work on the bytes begins; 0 where nothing waits. */
uint64_t sim_pace_begin(const SimPace *pace);
/* The work is done: waits for what is left of the bytes' time. */
void sim_pace_end(SimPace *pace, uint64_t start_ns, uint64_t bytes);
