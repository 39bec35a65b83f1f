#pragma once
/* Signals of the verbs run and resume that suspend, pause or interrupt an execution. Callers:
 * run_report.c, run_machine.c, remote_run.c, command_verify.c. Threads: the main thread; handlers
 * only set flags and request a suspension. */
#include "base/error.h"
#include "vm/execution/execution.h"

typedef enum RunSignal {
    RUN_SIGNAL_NONE,
    RUN_SIGNAL_SUSPEND, /* SIGTERM, SIGUSR1, SIGUSR2, SIGINT, SIGHUP, or the time of
                           --suspend-after-ms */
    RUN_SIGNAL_PAUSE,   /* SIGTSTP */
} RunSignal;

/* Lets signals stop this execution at its next safepoint. NULL: no execution. */
void run_signals_watch(Execution *execution);
MUST_CHECK Error *run_signals_install(void);
/* Returns the signal since the last call. */
RunSignal run_signals_take(void);
/* Suspends after so many milliseconds, as a signal would. 0: switches the timer off. */
MUST_CHECK Error *run_signals_set_timer(int64_t milliseconds);
