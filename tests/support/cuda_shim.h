#pragma once
/* A device of host memory that plans as a CUDA device does and runs the CUDA kernels on the host:
 * the same sources, compiled as C, block after block and thread after thread. */
#include "kernels/cuda/runtime/cuda_launch.h"
#include "kernels/device/device.h"

/* SPEC: "shim", or "shim:reversed", which runs blocks and threads from the last to the first: what
 * only one order computes is no kernel. All others as device_open. */
MUST_CHECK Error *cuda_shim_open(const char *spec, Device **out);
/* Kernels started on a device of this kind so far. */
uint64_t cuda_shim_launches(const Device *device);
/* From here on `launches` more kernels start, and then none: DEVICE_LOST. */
void cuda_shim_lose_after(Device *device, uint64_t launches);

/* Runs all blocks of one kernel. */
void cuda_shim_run(CudaKernelId kernel, const CudaGrid *grid, const void *params,
    size_t params_size, bool reversed);
