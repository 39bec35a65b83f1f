#pragma once
/* The main function of a worker process: opens a device and serves its parent until the socket
 * between them is closed. */
#include "base/error.h"

/* SPEC of the device. Errors: USAGE nobody who is to be served started this. What cannot be opened
 * is told to the parent, and is no error here. */
MUST_CHECK Error *process_server_run(const char *spec);
