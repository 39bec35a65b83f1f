#pragma once
/* The order in which weights are read. When weights are larger than a cache that drops its least
 * recently used lines, and are read from their start each time, the cache has always just dropped
 * the next lines. When they are read forwards and backwards in turn, as much of them as the cache
 * holds is found in it. Changes only the order of reading and prefetching, never a result. Called
 * by the products of single rows; the state belongs to the calling thread. */
#include <stdbool.h>
#include <stdint.h>

/* Bytes, read repeatedly, that a share of a server's third level cache holds: 16 to 32 MiB are
 * there for eight cores, and half of those run other work. */
enum { CPU_SWEEP_NEAR_BYTES = 8 << 20 };
/* Bytes that a second level cache holds: processors of servers have 0.5 to 2 MiB. */
enum { CPU_SWEEP_KEPT_BYTES = 1 << 20 };

typedef struct CpuSweep {
    /* Read the weights from the end to the start, opposite to this thread's last reading of them.
     * False when the thread has read so many other bytes since that no line of the weights is left
     * in a cache: reading forwards is then faster, since processors fetch ahead. */
    bool backwards;
    /* Together with the bytes that this thread has read since its last reading, the weights are at
     * most CPU_SWEEP_NEAR_BYTES, so they come from a cache. */
    bool near;
} CpuSweep;

/* Decides how this thread should read weights of so many bytes, which it does next. */
CpuSweep cpu_sweep_begin(const void *weights, uint64_t size);
