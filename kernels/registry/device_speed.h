#pragma once
/* Measures a device's speed relative to others: times a matrix product and an addition, which are
 * the larger the faster the device is. Called by control_devices.c on the thread that adds the
 * device. The result chooses a device, never a kernel. */
#include "kernels/device/device.h"

enum { DEVICE_SPEED_MAX = 1 << 20 };

/* Measures: from 1 to DEVICE_SPEED_MAX, a power of two, so that noise does not make equal devices
 * unequal. Takes milliseconds, a few MiB of the device, and its computing time; 1 if not even the
 * smallest operands fit. Errors: DEVICE_LOST; FAILED; OUT_OF_MEMORY. */
MUST_CHECK Error *device_speed_measure(Device *device, uint64_t *out_speed);
