#pragma once
/* How weights are read. A cache that drops what was used longest ago has, of weights
 * that are larger than it and read from their start each time, always just dropped what comes next.
 * Read there and back by turns, as much of them as it holds is found in it. Only the order of
 * reading and what is fetched ahead: never what a kernel computes. */
#include <stdbool.h>
#include <stdint.h>

/* Bytes that are read over and over which a share of a server's third level cache holds: 16 to 32
 * MiB are there for eight cores, and half of those run something else. */
enum { CPU_SWEEP_NEAR_BYTES = 8 << 20 };
/* Those that a second level cache holds: processors of servers have 0.5 to 2 MiB. */
enum { CPU_SWEEP_KEPT_BYTES = 1 << 20 };

typedef struct CpuSweep {
    /* From their end to their start: the other way than this thread's last reading of them, unless
     * it has read so much else since that nothing of them is left. Forwards is faster then, since
     * processors fetch ahead. */
    bool backwards;
    /* With what this thread has read since its last reading of them they are no more than
     * CPU_SWEEP_NEAR_BYTES: they come from a cache. */
    bool near;
} CpuSweep;

/* How this thread should read weights of so many bytes, which it does next. */
CpuSweep cpu_sweep_begin(const void *weights, uint64_t size);
