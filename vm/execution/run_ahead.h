#pragma once
/* How far an execution is ahead of its device: the interpreter queues kernels without waiting for
 * them, but whoever wants the device waits for all that is queued, so that has to be little.
 *
 * Work is measured in bytes of operands and in launches, and cut into halves: a half is begun when
 * the last but one is done. */
#include "kernels/device/memory_pool.h"

enum { RUN_AHEAD_HALF_BYTES = 16 << 20, RUN_AHEAD_HALF_LAUNCHES = 64, RUN_AHEAD_HALVES = 2 };

typedef struct RunAhead {
    DeviceEvent *ends[RUN_AHEAD_HALVES]; /* NULL: not needed yet */
    uint64_t bytes;                      /* of the present half */
    uint32_t launches;
    uint32_t half;
} RunAhead;

/* A launch with so many bytes of operands was queued on the pool's stream. Blocks: while too much
 * is. Errors: DEVICE_LOST, OUT_OF_MEMORY. */
MUST_CHECK Error *run_ahead_add(RunAhead *ahead, const MemoryPool *pool, uint64_t bytes);
/* Nothing is queued any more: the next launch is the first of a half. So a loop that reads a value
 * in each turn has its events at the same launches of each. */
void run_ahead_settle(RunAhead *ahead);
void run_ahead_deinit(RunAhead *ahead, Device *device);
