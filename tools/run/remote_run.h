#pragma once
/* The verbs run and resume FILE through a daemon: an interactive job, followed to its end, with the
 * answer of an embedded run. Callers: command_run.c, command_resume.c. Threads: the main thread. */
#include "tools/client/remote.h"

MUST_CHECK Error *remote_run_model(CommandContext *context, HttpClient *client);
MUST_CHECK Error *remote_run_file(CommandContext *context, HttpClient *client);
