#include "tools/run/run_signals.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/time.h>

/* A handler can reach nothing but these: the process's signal flags. */
static atomic_int pending;
static _Atomic(Execution *) watched;

static void on_signal(int number) {
    atomic_store(&pending, number == SIGTSTP ? RUN_SIGNAL_PAUSE : RUN_SIGNAL_SUSPEND);
    Execution *execution = atomic_load(&watched);
    /* an atomic store, which a handler may do */
    if (execution) execution_request_suspend(execution);
}

void run_signals_watch(Execution *execution) {
    atomic_store(&watched, execution);
    /* a signal between two executions stops the next one */
    if (execution && atomic_load(&pending) != RUN_SIGNAL_NONE) execution_request_suspend(execution);
}

Error *run_signals_install(void) {
    static const int suspending[] = {SIGTERM, SIGUSR1, SIGUSR2, SIGINT, SIGHUP, SIGALRM, SIGTSTP};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;
    for (size_t i = 0; i < sizeof suspending / sizeof *suspending; i++) {
        const int number = suspending[i];
        /* under nohup(1) the run outlives its terminal */
        if (number == SIGHUP && sigaction(number, NULL, &before) == 0 &&
            before.sa_handler == SIG_IGN)
            continue;
        if (sigaction(number, &action, NULL) != 0)
            FAIL(IO, "signal %d cannot be handled: %s", number, strerror(errno));
    }
    return NULL;
}

RunSignal run_signals_take(void) { return (RunSignal)atomic_exchange(&pending, RUN_SIGNAL_NONE); }

Error *run_signals_set_timer(int64_t milliseconds) {
    struct itimerval timer = {
        .it_value = {milliseconds / 1000, (suseconds_t)(milliseconds % 1000) * 1000}};
    if (setitimer(ITIMER_REAL, &timer, NULL) != 0)
        FAIL(IO, "no timer from the system: %s", strerror(errno));
    return NULL;
}
