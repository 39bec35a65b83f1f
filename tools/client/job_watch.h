#pragma once
/* Follows a job until it ends, also to another node, and turns its end into an exit code. Callers:
 * tools/cli and remote_run.c. Threads: the main thread. */
#include "tools/client/remote.h"

typedef struct JobWatch {
    const CommandContext *context;
    HttpClient *client;
    const char *job;
    int64_t since; /* the last line that was read; the watch continues behind it */
    bool show;     /* prints a line for each change, or the bar */
    bool until_suspended;
    /* Called several times a second; may be NULL. True ends the watch with INTERRUPTED. */
    bool (*interrupted)(void *context);
    /* From the last line that contained them. */
    char state[65];
    char why[512];
    bool ended, stopped;
    struct Progress *progress; /* NULL: no bar is drawn */
    int64_t items_total;
} JobWatch;

MUST_CHECK Error *job_watch_run(JobWatch *watch);
/* Returns 0, 1, 6 or 85. */
int job_watch_exit_code(const char *state);
/* Returns whether the state is an end, after which the job does not change. */
bool job_watch_is_end(const char *state);
