#pragma once
/* The cpu device: the host's own processor. SPEC "cpu" or "cpu:threads=2". */
#include "kernels/device/device.h"

/* What the SPEC "cpu" opens, for devices that let the host compute. */
MUST_CHECK Error *cpu_device_open(Device **out);
/* See device_open_portable. */
MUST_CHECK Error *cpu_device_open_portable(Device **out);
