#include "base/thread.h"

#include <signal.h>
#include <stdio.h>

enum { NAME_SIZE = 16 }; /* pthread_setname_np(3) */

bool thread_start(pthread_t *out, const char *name, void *(*main)(void *), void *argument) {
    char shown[NAME_SIZE];
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = pthread_create(out, NULL, main, argument) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)snprintf(shown, sizeof shown, "%s", name);
    if (started) (void)pthread_setname_np(*out, shown); /* only for people */
    return started;
}
