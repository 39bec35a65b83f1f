#pragma once
/* Follows a job, shows its changes, and turns its end into an exit code. Callers: tools/cli and
 * remote_run.c. Threads: the main thread. */
#include "tools/client/command.h"
#include "tools/remote/job_follow.h"

typedef struct JobWatch {
    const CommandContext *context;
    JobFollow follow; /* with client, job and since; the rest is the watch's to set */
    bool show;        /* prints a line for each change, or the bar */
    /* Called several times a second; may be NULL. True ends the watch with INTERRUPTED. */
    bool (*interrupted)(void *watch);
    struct Progress *progress; /* NULL: no bar is drawn */
} JobWatch;

MUST_CHECK Error *job_watch_run(JobWatch *watch);
/* Returns 0, 1, 6 or 85. */
int job_watch_exit_code(const char *state);
