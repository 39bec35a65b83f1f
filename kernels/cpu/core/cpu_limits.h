#pragma once
/* What the processor can do at best, measured: multiply-adds in registers, and reads of memory
 * beyond its caches. For people, never for choosing a kernel. */
#include "kernels/device/device.h"

typedef struct CpuLimits {
    uint32_t threads;
    double operations_per_ns; /* of float32; a multiply-add is two */
    double bytes_per_ns;      /* what comes from a cache is faster */
} CpuLimits;

/* device: of class cpu; threads: at most its own. Takes some 0.1 s and up to 256 MiB. Errors:
 * OUT_OF_MEMORY. */
MUST_CHECK Error *cpu_limits_measure(Device *device, uint32_t threads, CpuLimits *out);
