#pragma once
/* Steps of the verbs that change a job through a daemon. Callers: command_changes.c,
 * command_resume.c, remote_run.c. Threads: the main thread. */
#include "tools/client/remote.h"

/* Sends POST or DELETE /v1/jobs/JOB[/what] for the command's job, with its --from and --device. */
MUST_CHECK Error *job_changes_run(CommandContext *context, HttpMethod method, const char *what);
/* Fetches a checkpoint, with the command's --from and --with-model. release: the file takes the job
 * over. */
MUST_CHECK Error *job_changes_fetch_checkpoint(HttpClient *client, const CommandContext *context,
    const char *job, const char *path, bool release, uint64_t *out_bytes);
