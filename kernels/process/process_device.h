#pragma once
/* A device that is opened in a worker process: a driver that fails for good takes the worker along,
 * not the caller. To its user it is the device itself, under its name; when the worker dies, it is
 * lost.
 *
 * What crosses is each call of the device's table (process_calls.def); whatever holds an execution
 * together stays with the caller. Launches, copies and what orders them are only posted. */
#include "kernels/device/device.h"

/* spec: for the worker, of such a device; it must not share the host's memory.
 * Errors: those of opening it there; UNSUPPORTED the worker cannot be started, or is of another
 * version; DEVICE_LOST it ended meanwhile. */
MUST_CHECK Error *process_device_open(
    const char *kind, uint32_t index, const char *spec, Device **out);
