#pragma once
/* The main function of a worker process: opens a device and serves its parent until the socket
 * between them is closed. */
#include "base/error.h"
#include "kernels/device/device.h"

/* Opens the device of a SPEC in this process: device_open_here, which stands above this. */
typedef Error *ProcessOpen(const char *spec, Device **out);

/* SPEC of the device, and what opens it. Errors: USAGE nobody who is to be served started this.
 * What cannot be opened is told to the parent, and is no error here. */
MUST_CHECK Error *process_server_run(const char *spec, ProcessOpen *open_device);
