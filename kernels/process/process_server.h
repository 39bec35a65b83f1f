#pragma once
/* The main function of a worker process: opens a device and serves its parent until the socket
 * between them is closed. Called by `layover worker` (command_worker.c), on the process's main
 * thread. */
#include "base/error.h"
#include "kernels/device/device.h"

/* Opens the device of a SPEC in this process: device_open_here, which stands above this room. */
typedef Error *ProcessOpen(const char *spec, Device **out);

/* Checks the two descriptors that a parent gives to a process that serves it (process_memory.h),
 * keeps them from programs that this process may start, and asks the kernel to end this process
 * with the thread that started it. Called by native_server.c, too.
 *
 * seals:   that the shared memory must have.
 * Errors:  USAGE, with the refusal as its text: the process was not started by such a parent. */
MUST_CHECK Error *process_server_check_start(int seals, const char *refusal);
/* spec: of the device. Errors: USAGE the process was not started by a parent that uses it. A device
 * that cannot be opened is reported to the parent, and is no error here. */
MUST_CHECK Error *process_server_run(const char *spec, ProcessOpen *open_device);
