#pragma once
/* Signals of run and resume: those that suspend an execution, pause it, or interrupt it. */
#include "base/error.h"
#include "vm/execution/execution.h"

typedef enum RunSignal {
    RUN_SIGNAL_NONE,
    RUN_SIGNAL_SUSPEND, /* SIGTERM, SIGUSR1, SIGUSR2, SIGINT, SIGHUP, or the time of
                           --suspend-after-ms */
    RUN_SIGNAL_PAUSE,   /* SIGTSTP */
} RunSignal;

/* From now on signals stop this execution at its next safepoint. NULL: at no execution. */
void run_signals_watch(Execution *execution);
MUST_CHECK Error *run_signals_install(void);
/* What came since the last call. */
RunSignal run_signals_take(void);
/* Suspends after so many milliseconds, as a signal would. 0: no more. */
MUST_CHECK Error *run_signals_set_timer(int64_t milliseconds);
