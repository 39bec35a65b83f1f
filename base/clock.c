#include "base/clock.h"

static uint64_t real_monotonic_ns(void *self) {
    (void)self;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
    return clock_timespec_ns(now);
}

static double real_calendar_s(void *self) {
    (void)self;
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

Clock clock_real(void) { return (Clock){real_monotonic_ns, real_calendar_s, 0}; }

static uint64_t simulated_monotonic_ns(void *self) { return ((SimulatedClock *)self)->now_ns; }

static double simulated_calendar_s(void *self) {
    const SimulatedClock *clock = self;
    return clock->calendar_start_s + (double)clock->now_ns * 1e-9;
}

Clock clock_simulated(SimulatedClock *simulated) {
    return (Clock){simulated_monotonic_ns, simulated_calendar_s, simulated};
}
