#pragma once
/* The answer to an inference request: JSON, and behind it the bytes of those outputs that were
 * wanted as bytes. Called by route_inference.c, on handler threads. */
#include "scheduler/http/inference/inference_request.h"
#include "scheduler/http/server/http_response.h"

/* model, version: of the function that ran. outputs: all of them.
 * Errors: INVALID an output that was wanted does not exist; UNSUPPORTED its type cannot be written
 * so, or not at all. */
MUST_CHECK Error *inference_answer_write(const InferenceRequest *request, const char *model,
    int64_t version, const ArrayList *outputs, HttpResponse *response);
