#pragma once
/* Fetches a job's checkpoint as a file. Callers: command_changes.c, remote_run.c. Threads: the main
 * thread. */
#include "tools/client/remote.h"

/* With the command's --from and --with-model. release: the file takes the job over. */
MUST_CHECK Error *job_checkpoint_fetch(HttpClient *client, const CommandContext *context,
    const char *job, const char *path, bool release, uint64_t *out_bytes);
