#pragma once
/* Reads an answer's stream, as the server does. */
#include "scheduler/http/server/http_response.h"

/* Appends all of the stream to out and closes the stream; waits for news where the stream has none.
 * out_pulls: how many pulls brought bytes; NULL: not asked. */
MUST_CHECK Error *stream_pull(HttpStream *stream, size_t *out_pulls, ByteWriter *out);
