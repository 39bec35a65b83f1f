#pragma once
/* A stored executable as an answer to a request for its file. The bytes are those of
 * model_loader_export; nothing is written to the disk (container_answer.h). Called by the routes of
 * models, in a handler thread. */
#include "base/digest.h"
#include "scheduler/http/server/http_response.h"
#include "store/database/store.h"

/* Opens the stream, which keeps the executable from being removed until it is closed. Errors:
 * NOT_FOUND; CORRUPT. */
MUST_CHECK Error *model_answer_open(
    Store *store, TenantId tenant, const Digest *identity, HttpStream *out_stream);
