#pragma once
/* Following a job until it ends, also where it went, and what its end means for whoever waited. */
#include "tools/client/remote.h"

typedef struct JobWatch {
    const CommandContext *context;
    HttpClient *client;
    const char *job;
    int64_t since; /* the last line seen; goes on from there */
    bool show;     /* a line for each change, or the bar */
    bool until_suspended;
    /* Asked several times a second; may be NULL. True ends the watch with INTERRUPTED. */
    bool (*interrupted)(void *context);
    /* Of the last line that told them. */
    char state[65];
    char why[512];
    bool ended, stopped;
    struct Progress *progress; /* NULL: none is drawn */
    int64_t items_total;
} JobWatch;

/* /v1/jobs/JOB/what; what may be NULL. */
void job_watch_path(TextBuilder *path, const char *job, const char *what);
MUST_CHECK Error *job_watch_run(JobWatch *watch);
/* 0, 1, 6 or 85. */
int job_watch_exit_code(const char *state);
/* Whether it is an end: nothing more will come of the job. */
bool job_watch_is_end(const char *state);
