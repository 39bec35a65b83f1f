#pragma once
/* Starts one kernel of a planner's launch; planners need no other function of the driver. Called by
 * the launch functions in kernels/cuda/planners/, on the thread of the execution. */
#include "base/error.h"
#include "kernels/cuda/runtime/cuda_kernel_id.h"
#include "kernels/device/device.h"

typedef struct CudaGrid {
    uint32_t blocks[3];
    uint32_t threads[3];
    uint32_t shared_bytes; /* dynamic */
} CudaGrid;

/* Queues one kernel after the stream's earlier work.
 *
 * stream:  NULL for the default one, which has finished when this returns.
 * params:  the kernel's parameter structure; copied.
 * Errors:  DEVICE_LOST; INTERNAL the device refuses the launch. */
MUST_CHECK Error *cuda_launch(Device *device, DeviceStream *stream, CudaKernelId kernel,
    const CudaGrid *grid, const void *params, size_t params_size);
