#include "scheduler/node/run_times.h"

#include <stddef.h>

/* The weight of the newest run in the average. */
static const double NEWEST_PART = 0.25;

static uint64_t key_of(uint64_t model, uint32_t function) {
    uint64_t key = (model ^ ((uint64_t)function + 1)) * UINT64_C(0x9e3779b97f4a7c15);
    return key ? key : 1;
}

static size_t place_of(uint64_t key) { return (size_t)(key >> 32) % RUN_TIMES_MAX; }

void run_times_add(
    RunTimes *times, uint64_t model, uint32_t function, uint64_t count, uint64_t device_ns) {
    uint64_t key = key_of(model, function);
    struct RunTime *time = &times->times[place_of(key)];
    double each = (double)device_ns / (double)count;
    if (time->key == key)
        time->device_ns += (each - time->device_ns) * NEWEST_PART;
    else
        *time = (struct RunTime){key, each}; /* the earlier entry of this place is dropped */
}

uint64_t run_times_expect(
    const RunTimes *times, uint64_t model, uint32_t function, uint64_t count) {
    uint64_t key = key_of(model, function);
    const struct RunTime *time = &times->times[place_of(key)];
    double sum = time->device_ns * (double)count;
    if (time->key != key) return 0;
    return sum < 1 ? 1 : sum > 1e18 ? UINT64_C(1000000000000000000) : (uint64_t)sum;
}
