#pragma once
/* Measures the processor's best speed: multiply-adds in registers, and reads of memory beyond its
 * caches. Called by the command line's profile (run_profile.c), on its main thread; never used to
 * choose a kernel. */
#include "kernels/device/device.h"

typedef struct CpuLimits {
    uint32_t threads;
    double operations_per_ns; /* of float32; a multiply-add is two */
    double bytes_per_ns;      /* reads from a cache are faster */
} CpuLimits;

/* device: of class cpu; threads: at most its own. Takes some 0.1 s and up to 256 MiB. Errors:
 * OUT_OF_MEMORY. */
MUST_CHECK Error *cpu_limits_measure(Device *device, uint32_t threads, CpuLimits *out);
