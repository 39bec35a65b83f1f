#pragma once
/* The model that an address of the Open Inference Protocol names. Called by route_inference.c and
 * route_repository.c, on handler threads. */
#include "scheduler/http/server/http_service.h"

/* Finds the newest version of the model that is the address' first name, or the version, by number
 * or alias, that is its second one. Errors: INVALID a name; NOT_FOUND. */
MUST_CHECK Error *inference_model_find(
    HttpService *service, const HttpRequest *request, JobsApiModel *out_model);
