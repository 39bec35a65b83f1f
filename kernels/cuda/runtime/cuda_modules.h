#pragma once
/* Kernels that a device compiled at run time, by their source: each once, for all plans of the
 * device.
 *
 * None is unloaded before the device closes: nobody says when the last launch of a kernel is over
 * (a plan may be released while its launch is queued, and a graph may hold it). */
#include "kernels/cuda/driver/cuda_nvrtc.h"

struct CudaDevice;

enum { CUDA_MODULES_MAX = 512 };

typedef struct CudaModules CudaModules;

/* capacity: how many kernels; CUDA_MODULES_MAX at most. */
MUST_CHECK Error *cuda_modules_create(const CudaNvrtc *nvrtc, uint32_t capacity, CudaModules **out);
/* In the device's context. NULL is taken. */
void cuda_modules_release(struct CudaDevice *device, CudaModules *modules);
/* The function `entry` of the source. The first who asks for a source compiles and loads it, in the
 * device's context; who asks meanwhile waits. What fails is tried anew when it is asked for again.
 *
 * out:     borrowed as long as the device is open; NULL there is no more room.
 * Errors:  FAILED with what the compiler says; the driver's when the image does not load.
 * Threads: any.
 * Blocks:  while it compiles: tenths of a second, some seconds at most. */
MUST_CHECK Error *cuda_modules_get(struct CudaDevice *device, CudaModules *modules,
    const char *entry, const char *source, CUfunction *out);
