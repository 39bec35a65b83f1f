#pragma once
/* The verbs of models and the store through a daemon, with the answers of the embedded verbs.
 * Callers: tools/cli, job_inputs.c. Threads: the main thread. */
#include "tools/client/model_access.h"
#include "tools/client/remote.h"

MUST_CHECK Error *remote_models_list(const CommandContext *context, HttpClient *client);
MUST_CHECK Error *remote_models_show(const CommandContext *context, HttpClient *client);
/* Sends a file; format and precision may be NULL. */
MUST_CHECK Error *remote_models_register(const CommandContext *context, HttpClient *client,
    const char *format, const char *precision, json_object **out);
/* Loads an executable into memory through a temporary file. */
MUST_CHECK Error *remote_models_load(
    HttpClient *client, const char *reference, ModelAccess *access, Executable **out_executable);
