#pragma once
/* Follows a job until it ends, also to another node. Callers: the library, job_watch.c. Threads:
 * any; one at a time for each client. */
#include "tools/remote/remote_request.h"

typedef struct JobFollow {
    HttpClient *client;
    const char *job;
    int64_t since;        /* the last line that was read; the next run continues behind it */
    bool until_suspended; /* a suspended job ends the run, too */
    /* Called several times a second; may be NULL. True ends the run with INTERRUPTED. */
    bool (*interrupted)(void *context);
    /* Called for each line (docs/http.md); may be NULL. The line is borrowed. An error ends the
     * run. */
    Error *(*visit)(void *context, json_object *line);
    void *context; /* of both */
    /* From the last line that contained them. */
    char state[65];
    char why[512];
    bool ended, stopped;
} JobFollow;

MUST_CHECK Error *job_follow_run(JobFollow *follow);
/* Returns whether the state is an end, after which the job does not change. */
bool job_follow_is_end(const char *state);
