#include "base/thread.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>

enum { NAME_SIZE = 16 }; /* pthread_setname_np(3) */

/* A fault comes to the thread whose instruction caused it. If the thread blocks that signal, the
 * kernel ends the process and calls no handler, not even that of base/mapped_file.h. */
static const int own_faults[] = {SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};

bool thread_start(pthread_t *out, const char *name, void *(*main)(void *), void *argument) {
    char shown[NAME_SIZE];
    sigset_t blocked, before;
    (void)sigfillset(&blocked);
    for (size_t i = 0; i < sizeof own_faults / sizeof *own_faults; i++)
        (void)sigdelset(&blocked, own_faults[i]);
    (void)pthread_sigmask(SIG_SETMASK, &blocked, &before);
    const bool started = pthread_create(out, NULL, main, argument) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)snprintf(shown, sizeof shown, "%s", name);
    if (started) (void)pthread_setname_np(*out, shown); /* the name is only for people */
    return started;
}

void thread_condition_init(pthread_cond_t *out) {
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(out, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
}
