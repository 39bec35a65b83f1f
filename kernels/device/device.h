#pragma once
/* What all devices have in common, beyond the table of device_class.h: closing, the host's plain
 * memory, copies between devices, streams. device_registry.h opens a device by name. Called by the
 * VM, the executor, the compiler and the plans of other devices. Threads: as in device_class.h. */
#include "base/own.h"
#include "kernels/device/device_class.h"

void device_close(Device *device);
DEFINE_OWN(Device, device_close);

/* Plain host memory without kernels, for tensors that belong to no execution (attributes, constants
 * being read). Always exists, never closed; shares memory with cpu. */
Device *device_host(void);

/* The size of the device's memory; queried once. */
MUST_CHECK Error *device_total_bytes(Device *device, uint64_t *out_bytes);
/* Whether both have the same memory, so that a copy between them is a reference. */
bool device_shares_memory(const Device *a, const Device *b);

/* One end of a copy. */
typedef struct DevicePlace {
    Device *device;
    DeviceStream *stream; /* of the device */
    uint64_t address;
} DevicePlace;

/* Copies between any two devices, through host memory if they are different; on the streams, as the
 * table's copies do. Between two streams of one device the copy is done when the call returns. */
MUST_CHECK Error *device_transfer(DevicePlace to, DevicePlace from, uint64_t size);

/* As the table's, also for devices without queues: *out is then NULL, and there is nothing to wait
 * for. */
MUST_CHECK Error *device_stream_create(Device *device, DeviceStream **out);
void device_stream_destroy(Device *device, DeviceStream *stream);
MUST_CHECK Error *device_stream_synchronize(Device *device, DeviceStream *stream);
