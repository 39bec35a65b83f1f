#pragma once
/* Memory of a GPU, from the driver's pool: functions of the device's table. Called through the
 * table of cuda_class.c, and by cuda_device.c. Threads: as device_class.h says. */
#include "base/error.h"
#include "kernels/cuda/runtime/cuda_context.h"

MUST_CHECK Error *cuda_memory_create_pool(CudaDevice *device);
MUST_CHECK Error *cuda_memory_info(Device *device, DeviceMemory *out);
MUST_CHECK Error *cuda_memory_alloc(
    Device *device, DeviceStream *stream, uint64_t size, uint64_t *out_address);
void cuda_memory_free(Device *device, DeviceStream *stream, uint64_t address, uint64_t size);
