#pragma once
/* The inputs of a model's functions as its daemon describes them. Callers: job_inputs.c. Threads:
 * the main thread. */
#include "tools/client/remote.h"
#include "vm/code/executable.h"

/* executable has functions with names and parameters, and nothing else: it is made for
 * executable_find_function, executable_choose_function and the readers of inputs, which only read
 * them. It must not be retained or released. */
typedef struct RemoteSignature {
    json_object *model; /* owns the texts */
    Executable executable;
} RemoteSignature;

/* Fetches the description. Errors: NOT_FOUND; CORRUPT a description that is none. */
MUST_CHECK Error *remote_signature_fetch(
    HttpClient *client, const char *reference, RemoteSignature *out);
void remote_signature_deinit(RemoteSignature *signature);
#define OWN_SIGNATURE(name) __attribute__((cleanup(remote_signature_deinit))) name
