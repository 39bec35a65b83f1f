#pragma once
/* Time: a monotonic clock for durations and the calendar for people, behind a vtable so that tests
 * can drive it. scheduler/ passes the clock to its parts; other callers use clock_real(). Threads:
 * any, for the real clock. */
#include <stdint.h>
#include <time.h>

#include "base/duration.h"

typedef struct Clock {
    uint64_t (*monotonic_ns)(void *self);
    double (*calendar_s)(void *self); /* seconds since 1970 */
    void *self;
} Clock;

Clock clock_real(void);
static inline uint64_t clock_now_ns(Clock clock) { return clock.monotonic_ns(clock.self); }

/* Converts to and from the time of system calls. */
static inline struct timespec clock_timespec(uint64_t ns) {
    return (struct timespec){.tv_sec = (time_t)(ns / SECOND_NS), .tv_nsec = (long)(ns % SECOND_NS)};
}
static inline uint64_t clock_timespec_ns(struct timespec time) {
    return (uint64_t)time.tv_sec * SECOND_NS + (uint64_t)time.tv_nsec;
}

/* A clock that moves only when the test changes it; the caller owns the struct. */
typedef struct SimulatedClock {
    uint64_t now_ns;
    double calendar_start_s;
} SimulatedClock;
Clock clock_simulated(SimulatedClock *simulated);
