#pragma once
/* The cpu device: the host's own processor. SPEC "cpu" or "cpu:threads=2". Opened by
 * device_registry.c, and privately by the sim and cuda devices. */
#include "kernels/device/device.h"

/* Opens the device of the SPEC "cpu", for devices that let the host compute. */
MUST_CHECK Error *cpu_device_open(Device **out);
/* See device_open_portable. */
MUST_CHECK Error *cpu_device_open_portable(Device **out);
