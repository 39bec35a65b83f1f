#pragma once
/* Requests about the models that a daemon stores. Callers: the library, the command line. Threads:
 * any; one at a time for each client.
 *
 * reference: NAME, NAME@3, NAME@alias. */
#include "tools/remote/remote_request.h"

/* What a registration says beside the file. Members may be 0 or NULL. */
typedef struct ModelRegistration {
    const char *format, *precision;
    bool no_prepare;
    const char *const *aliases;
    uint32_t alias_count;
} ModelRegistration;

/* Sends a file, which becomes the newest version of a name. */
MUST_CHECK Error *model_request_register(HttpClient *client, const char *name, const char *file,
    const ModelRegistration *registration, json_object **out);
/* Reads a model's description with its functions. */
MUST_CHECK Error *model_request_get(HttpClient *client, const char *reference, json_object **out);
MUST_CHECK Error *model_request_remove(
    HttpClient *client, const char *reference, json_object **out);
/* Fetches a stored version as a file. */
MUST_CHECK Error *model_request_fetch(
    HttpClient *client, const char *reference, const char *path, uint64_t *out_bytes);
