#pragma once
/* The cpu device: the host's own processor. SPEC "cpu" or "cpu:threads=2". */
#include "kernels/device.h"

/* See device_open_portable. */
MUST_CHECK Error *cpu_device_open_portable(Device **out);
