#pragma once
/* Fused pointwise groups, each as a kernel of its own that is compiled when the group is planned.
 * Called by cuda_class.c when a device is opened and planned; any thread. */
#include "kernels/cuda/runtime/cuda_context.h"
#include "kernels/operator/kernel.h"

enum {
    /* Elements times steps from which a group is compiled. Below this number, starting a kernel
     * costs about as much as interpreting the steps (counted in instructions, not measured). */
    CUDA_COMPILED_WORK_MIN = 1 << 20
};

/* Sets device->modules if NVRTC is on this machine, fits the driver and is not disabled. */
MUST_CHECK Error *cuda_compiled_open(CudaDevice *device);
/* The kernels of a device with modules, NULL-terminated. */
const Kernel *const *cuda_compiled_tables(void);
