#pragma once
/* Copies with a GPU: functions of the device's table. Called through the table of cuda_class.c, and
 * by the library's kernels. Threads: as device_class.h says. */
#include "base/error.h"
#include "kernels/device/device.h"

MUST_CHECK Error *cuda_transfer_in(
    Device *device, DeviceStream *stream, uint64_t to, const void *from, uint64_t size);
MUST_CHECK Error *cuda_transfer_out(
    Device *device, DeviceStream *stream, void *to, uint64_t from, uint64_t size);
MUST_CHECK Error *cuda_transfer_inside(
    Device *device, DeviceStream *stream, uint64_t to, uint64_t from, uint64_t size);
