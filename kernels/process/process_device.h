#pragma once
/* A device that is opened in a worker process: a driver that crashes ends the worker, not the
 * caller. To its user it is the device itself, under its name; when the worker ends, the device is
 * lost. Called by device_registry.c. Threads: any.
 *
 * Each call of the device's table crosses the border (process_calls.def); the state of executions
 * stays with the caller. Launches, copies and their ordering are only posted. */
#include "kernels/device/device.h"

/* spec: of the device, for the worker; the device must not share the host's memory. Errors: those
 * of opening the device in the worker; UNSUPPORTED the worker cannot be started, or is of another
 * version; DEVICE_LOST the worker ended during the call. */
MUST_CHECK Error *process_device_open(
    const char *kind, uint32_t index, const char *spec, Device **out);
