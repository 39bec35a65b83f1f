#pragma once
/* How fast a device is beside others, measured: a matrix product and an addition, the larger the
 * faster it is, timed. For choosing a device, never for choosing a kernel. */
#include "kernels/device/device.h"

enum { DEVICE_SPEED_MAX = 1 << 20 };

/* From 1 to DEVICE_SPEED_MAX, a power of two, so that noise does not make equal devices unequal.
 * Takes milliseconds, a few MiB of the device, and its attention; 1 where not even the smallest
 * operands find room. Errors: DEVICE_LOST; FAILED; OUT_OF_MEMORY. */
MUST_CHECK Error *device_speed_measure(Device *device, uint64_t *out_speed);
