#pragma once
/* A stream of one piece: a few words and a number. */
#include "scheduler/http/server/http_response.h"

/* words: a constant. */
MUST_CHECK Error *number_stream_open(const char *words, int64_t number, HttpStream *out_stream);
