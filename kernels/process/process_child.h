#pragma once
/* A worker process as its parent sees it: started, watched, ended.
 *
 * A thread of its own starts it and waits for its end. The kernel ends a worker with the thread
 * that started it, so that it never outlives this process; callers' threads may come and go.
 *
 * Program: $LAYOVER_WORKER; else this one, if it is called layover; else layover in $PATH. */
#include <stdatomic.h>

#include "base/error.h"
#include "base/text.h"

typedef struct ProcessChild ProcessChild;

typedef struct ProcessChildOptions {
    const char *spec; /* of its device */
    int memory;       /* descriptor that it gets as PROCESS_MEMORY; the caller's */
    /* Called once, when it is gone: on the thread that waits for it. */
    void (*gone)(void *context);
    void *context;
} ProcessChildOptions;

/* Errors: UNSUPPORTED there is no such program, or it cannot be started (says which); IO. */
MUST_CHECK Error *process_child_start(const ProcessChildOptions *options, ProcessChild **out);
/* The other end of its PROCESS_SOCKET. */
int process_child_socket(const ProcessChild *child);
/* At once. Threads: any. */
void process_child_kill(ProcessChild *child);
/* Waits for its end, two seconds at most; whether it came. */
bool process_child_wait(ProcessChild *child);
/* How it ended, as in "was ended by signal 9"; "" as long as it runs. */
void process_child_describe(ProcessChild *child, TextBuilder *out);
/* Closes the socket, upon which it ends; kills it when it has not after two seconds. `gone` has
 * returned then. */
void process_child_end(ProcessChild *child);
DEFINE_OWN(ProcessChild, process_child_end);
