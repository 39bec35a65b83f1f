#pragma once
/* Launches as the rest of the device needs them: a function that was compiled at run time, and the
 * end of the module. Called by cuda_compiled.c and cuda_device.c. */
#include "base/error.h"
#include "kernels/cuda/runtime/cuda_context.h"
#include "kernels/cuda/runtime/cuda_launch.h"

void cuda_launch_unload(CudaDevice *device);
/* As cuda_launch, for a function that the device compiled. name: for errors. */
MUST_CHECK Error *cuda_launch_function(CudaDevice *device, DeviceStream *stream,
    CUfunction function, const char *name, const CudaGrid *grid, const void *params);
