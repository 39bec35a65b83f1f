#pragma once
/* Memory of devices whose addresses are pointers: the functions that the cpu and the host device
 * share. They have no queues: streams are NULL. Entered into the tables of cpu_device.c and
 * device.c. Threads: any. */
#include "kernels/device/device_class.h"

MUST_CHECK Error *host_memory_alloc(
    Device *device, DeviceStream *stream, uint64_t size, uint64_t *out_address);
void host_memory_free(Device *device, DeviceStream *stream, uint64_t address, uint64_t size);
MUST_CHECK Error *host_memory_info(Device *device, DeviceMemory *out);
MUST_CHECK Error *host_memory_copy_from_host(
    Device *device, DeviceStream *stream, uint64_t to, const void *from, uint64_t size);
MUST_CHECK Error *host_memory_copy_to_host(
    Device *device, DeviceStream *stream, void *to, uint64_t from, uint64_t size);
MUST_CHECK Error *host_memory_copy(
    Device *device, DeviceStream *stream, uint64_t to, uint64_t from, uint64_t size);
