#include "kernels/cpu/core/cpu_sweep.h"

enum {
    CLASSES = 64,
    CLASS_BITS = 6,
};

/* The last reading of weights whose address falls into this class. */
typedef struct Reading {
    const void *weights;
    uint64_t end; /* bytes that the thread had read up to the end of that reading */
    bool backwards;
} Reading;

static _Thread_local Reading readings[CLASSES];
static _Thread_local uint64_t bytes_read;

CpuSweep cpu_sweep_begin(const void *weights, uint64_t size) {
    /* Knuth, The Art of Computer Programming, section 6.4: Fibonacci hashing */
    const uint64_t hash = (uintptr_t)weights / 64 * UINT64_C(0x9e3779b97f4a7c15);
    Reading *last = &readings[hash >> (64 - CLASS_BITS)];
    const bool known = last->weights == weights;
    const uint64_t between = bytes_read - last->end;
    bytes_read += size;
    *last =
        (Reading){weights, bytes_read, known && between < CPU_SWEEP_KEPT_BYTES && !last->backwards};
    return (CpuSweep){
        .backwards = last->backwards,
        .near = known && between <= CPU_SWEEP_NEAR_BYTES && size <= CPU_SWEEP_NEAR_BYTES - between,
    };
}
