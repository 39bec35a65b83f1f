#pragma once
/* The device-time that runs of a function take, to predict the next run: a moving average over
 * ended runs, by executable and function. A bounded number of functions is known, the most recently
 * used; functions that did not end a run in this process are not known. Called by the control
 * thread alone; not thread-safe. */
#include <stdbool.h>
#include <stdint.h>

enum { RUN_TIMES_MAX = 4096 };

typedef struct RunTimes {
    struct RunTime {
        uint64_t key;     /* 0: free */
        double device_ns; /* of one item, or of a run without items */
    } times[RUN_TIMES_MAX];
} RunTimes;

/* model: the model's number; count: items, 1 for a run without items; at least 1. */
void run_times_add(
    RunTimes *times, uint64_t model, uint32_t function, uint64_t count, uint64_t device_ns);
/* The expected device-time of a run with count items; 0: not known. */
uint64_t run_times_expect(const RunTimes *times, uint64_t model, uint32_t function, uint64_t count);
