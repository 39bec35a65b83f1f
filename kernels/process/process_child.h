#pragma once
/* A worker process as its parent sees it: started, watched, ended. Called by process_device.c and
 * native_worker.c.
 *
 * A thread of its own starts the worker and waits for its end. The kernel ends a worker together
 * with the thread that started it, so that a worker never outlives this process, while callers'
 * threads may come and go.
 *
 * Program: $LAYOVER_WORKER; else this program, if it is called layover; else layover in $PATH. */
#include <stdatomic.h>

#include "base/error.h"
#include "base/text.h"

typedef struct ProcessChild ProcessChild;

typedef struct ProcessChildOptions {
    const char *verb; /* the command of the program that serves: "worker", "native-worker" */
    const char *spec; /* its argument; a worker's device */
    int memory;       /* the caller's descriptor that the worker gets as PROCESS_MEMORY */
    /* Called once, when the worker has ended, on the thread that waits for it. */
    void (*gone)(void *context);
    void *context;
} ProcessChildOptions;

/* Errors: UNSUPPORTED there is no such program, or it cannot be started (says which); IO. */
MUST_CHECK Error *process_child_start(const ProcessChildOptions *options, ProcessChild **out);
/* The other end of the worker's PROCESS_SOCKET. */
int process_child_socket(const ProcessChild *child);
/* Kills the worker at once. Threads: any. */
void process_child_kill(ProcessChild *child);
/* Waits for the worker's end, two seconds at most; returns whether it came. */
bool process_child_wait(ProcessChild *child);
/* Describes the end, as in "was ended by signal 9"; "" while the worker runs. */
void process_child_describe(ProcessChild *child, TextBuilder *out);
/* Closes the socket, upon which the worker ends; kills a worker that has not ended after two
 * seconds. `gone` has returned afterwards. */
void process_child_end(ProcessChild *child);
DEFINE_OWN(ProcessChild, process_child_end);
