#pragma once
/* The main function of a native worker: loads a library that its parent sends, and calls the
 * library's functions one after the other until the parent closes the socket between them. Called
 * by `layover native-worker` (command_native_worker.c), on the process's main thread. */
#include "base/error.h"

/* Errors: USAGE the process was not started by a parent that uses it; CORRUPT the parent sends
 * nonsense. */
MUST_CHECK Error *native_server_run(void);
