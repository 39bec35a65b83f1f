#pragma once
/* Reads streams that wait for news. */
#include "scheduler/http/server/http_response.h"

/* All of it, and closes it. out_pulls: how many brought something; NULL: not asked. */
MUST_CHECK Error *passed_pull(HttpStream *stream, size_t *out_pulls, ByteWriter *out);
