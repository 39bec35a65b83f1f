#pragma once
/* Starts and stops a GPU: its context, its memory pool and its staging. Called by cuda_class.c, on
 * the thread that opens or closes the device. */
#include "base/error.h"
#include "kernels/cuda/runtime/cuda_context.h"

/* Finds the GPU, makes its context, the queue for calls without a stream, pool and staging. base,
 * options and mutex are set. Errors: as DeviceClass.open; cuda_device_stop then frees the parts
 * that exist. */
MUST_CHECK Error *cuda_device_start(CudaDevice *device);
/* Waits for queued work and frees everything. Does nothing if the context was not retained. */
void cuda_device_stop(CudaDevice *device);
