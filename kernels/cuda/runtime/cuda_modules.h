#pragma once
/* Kernels that a device compiled at run time, found by their source: each once, for all plans of
 * the device. Called by cuda_compiled.c when it plans.
 *
 * No module is unloaded before the device closes, since the end of a kernel's last launch is not
 * known (a plan may be released while its launch is queued, and a graph may hold the kernel). */
#include "kernels/cuda/driver/cuda_nvrtc.h"
#include "kernels/cuda/runtime/cuda_context.h"

enum { CUDA_MODULES_MAX = 512 };

typedef struct CudaModules CudaModules;

/* capacity: upper bound on kernels; CUDA_MODULES_MAX at most. */
MUST_CHECK Error *cuda_modules_create(const CudaNvrtc *nvrtc, uint32_t capacity, CudaModules **out);
/* In the device's context. modules may be NULL. */
void cuda_modules_release(CudaDevice *device, CudaModules *modules);
/* The function `entry` of the source. The first caller with a source compiles and loads it, in the
 * device's context; later callers wait. A compilation that failed is tried again at the next call.
 *
 * out:     borrowed as long as the device is open; NULL there is no more room.
 * Errors:  FAILED with the compiler's message; the driver's when the image does not load.
 * Threads: any.
 * Blocks:  while it compiles: tenths of a second, some seconds at most. */
MUST_CHECK Error *cuda_modules_get(CudaDevice *device, CudaModules *modules, const char *entry,
    const char *source, CUfunction *out);
