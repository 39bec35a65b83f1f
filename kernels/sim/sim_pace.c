#include "kernels/sim/sim_pace.h"

#include <errno.h>

#include "base/clock.h"

enum { SLEEP_NS_MIN = 50000 };

void sim_pace_init(SimPace *pace, double bytes_per_s) {
    *pace = (SimPace){.ns_per_byte = bytes_per_s > 0 ? (double)SECOND_NS / bytes_per_s : 0};
}

uint64_t sim_pace_begin(const SimPace *pace) {
    return pace->ns_per_byte > 0 ? clock_now_ns(clock_real()) : 0;
}

static void sleep_until(uint64_t until_ns) {
    const struct timespec until = clock_timespec(until_ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) continue;
}

void sim_pace_end(SimPace *pace, uint64_t start_ns, uint64_t bytes) {
    if (!(pace->ns_per_byte > 0)) return;
    uint64_t cost_ns = (uint64_t)((double)bytes * pace->ns_per_byte);
    uint64_t before_ns = atomic_load_explicit(&pace->free_ns, memory_order_relaxed), end_ns;
    do {
        end_ns = (before_ns > start_ns ? before_ns : start_ns) + cost_ns;
    } while (!atomic_compare_exchange_weak_explicit(
        &pace->free_ns, &before_ns, end_ns, memory_order_relaxed, memory_order_relaxed));
    uint64_t now_ns = clock_now_ns(clock_real());
    if (end_ns > now_ns && end_ns - now_ns >= SLEEP_NS_MIN) sleep_until(end_ns);
}
