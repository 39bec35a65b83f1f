#pragma once
/* The order in which weights are read. A cache that drops what was used longest ago has, of weights
 * that are larger than it and read from their start each time, always just dropped what comes next.
 * Read there and back by turns, as much of them as it holds is found in it. Only the order of
 * reading: never what a kernel computes. */
#include <stdbool.h>
#include <stdint.h>

/* Whether this reading of weights of so many bytes should go from their end to their start: the
 * other way than this thread's last one, unless it has read so much else since that nothing of them
 * is left. Forwards is faster then, since processors fetch ahead. */
bool cpu_sweep_backwards(const void *weights, uint64_t size);
