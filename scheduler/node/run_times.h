#pragma once
/* How much device-time runs of a function took, so that one that is to come can be foretold: a
 * moving average over those that ended, by executable and function. A bounded number of them is
 * known, the ones used last; what this process has not seen end is not known. Not thread-safe. */
#include <stdbool.h>
#include <stdint.h>

enum { RUN_TIMES_MAX = 4096 };

typedef struct RunTimes {
    struct RunTime {
        uint64_t key;     /* 0: free */
        double device_ns; /* of one item, or of a run without items */
    } times[RUN_TIMES_MAX];
} RunTimes;

/* model: its number; count: items, 1 for a run without items; at least 1. */
void run_times_add(
    RunTimes *times, uint64_t model, uint32_t function, uint64_t count, uint64_t device_ns);
/* 0: not known. */
uint64_t run_times_expect(const RunTimes *times, uint64_t model, uint32_t function, uint64_t count);
