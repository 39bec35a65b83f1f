#pragma once
/* All visible outputs of a job through a daemon, which answers them in pieces. */
#include "tools/client/remote.h"

/* Writes them to the file at path: the daemon's answer as it is where it holds all of them, else
 * the arrays of all answers, those of a batch job behind each other.
 *
 * job:    as GET answered it.
 * reply:  the last answer's.
 * Errors: CONFLICT there are outputs that no answer tells of. */
MUST_CHECK Error *output_pieces_fetch(
    HttpClient *client, json_object *job, const char *path, HttpClientReply *reply);
