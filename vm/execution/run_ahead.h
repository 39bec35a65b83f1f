#pragma once
/* Bounds how far an execution is ahead of its device: the interpreter queues kernels without
 * waiting for them, but the next user of the device waits for all queued work, so little may be
 * queued. Called by the interpreter's handlers on the thread of the execution.
 *
 * Work is measured in bytes of operands and in launches, and cut into halves: a half begins when
 * the one before the last is done. */
#include "kernels/device/memory_pool.h"

enum { RUN_AHEAD_HALF_BYTES = 16 << 20, RUN_AHEAD_HALF_LAUNCHES = 64, RUN_AHEAD_HALVES = 2 };

typedef struct RunAhead {
    DeviceEvent *ends[RUN_AHEAD_HALVES]; /* NULL: not needed so far */
    uint64_t bytes;                      /* of the present half */
    uint32_t launches;
    uint32_t half;
} RunAhead;

/* Counts a launch with so many bytes of operands that was queued on the pool's stream. Blocks:
 * while too much is queued. Errors: DEVICE_LOST, OUT_OF_MEMORY. */
MUST_CHECK Error *run_ahead_add(RunAhead *ahead, const MemoryPool *pool, uint64_t bytes);
/* Called when nothing is queued any more: the next launch is the first of a half. So a loop that
 * reads a value in each turn has its events at the same launches of each turn. */
void run_ahead_settle(RunAhead *ahead);
void run_ahead_deinit(RunAhead *ahead, Device *device);
