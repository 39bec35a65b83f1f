#pragma once
/* What verbs that change a job through a daemon share. */
#include "tools/client/remote.h"

/* POST or DELETE /v1/jobs/JOB[/what] for the command's job, with its --from and --device. */
MUST_CHECK Error *job_changes_run(CommandContext *context, HttpMethod method, const char *what);
/* A checkpoint, with the command's --from and --with-model. release: the job goes with it. */
MUST_CHECK Error *job_changes_fetch_checkpoint(HttpClient *client, const CommandContext *context,
    const char *job, const char *path, bool release, uint64_t *out_bytes);
