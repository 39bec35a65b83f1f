#pragma once
/* Fetches all visible outputs of a job from a daemon, which sends them in pieces. Callers:
 * command_changes.c, remote_run.c. Threads: the main thread. */
#include "serialize/arrays/array_list.h"
#include "tools/remote/remote_request.h"

/* Writes the outputs to the file at path: the daemon's answer unchanged if it has all outputs, else
 * the arrays of all answers; those of a batch job are joined.
 *
 * job:    the answer of a GET.
 * reply:  the last answer's.
 * Errors: CONFLICT outputs that no answer contained. */
MUST_CHECK Error *output_pieces_fetch(
    HttpClient *client, json_object *job, const char *path, HttpClientReply *reply);
/* Reads the outputs into memory, by way of a temporary file. */
MUST_CHECK Error *output_pieces_read(
    HttpClient *client, json_object *job, ArrayList *out_arrays, HttpClientReply *reply);
