#pragma once
/* The model that an address of the Open Inference Protocol names. Called by route_inference.c,
 * route_repository.c and route_statistics.c, on handler threads. */
#include <json-c/json_object.h>

#include "scheduler/http/server/http_service.h"
#include "scheduler/node/inference_statistics.h"

#define INFERENCE_PLATFORM "layover_lvx" /* what runs the models */

/* Finds the newest version of the model that is the address' first name, or the version, by number
 * or alias, that is its second one. Errors: INVALID a name; NOT_FOUND. */
MUST_CHECK Error *inference_model_find(
    HttpService *service, const HttpRequest *request, JobsApiModel *out_model);

/* Checks that inference requests of the model are taken. Errors: UNREACHABLE the model is
 * unloaded. */
MUST_CHECK Error *inference_model_check_loaded(
    const HttpRequest *request, const JobsApiModel *model);

/* The version under which requests of the model are counted. */
InferenceSubject inference_model_subject(const HttpRequest *request, const JobsApiModel *model);

/* Adds what one form of a model's description has beside the name. function: main. */
typedef void InferenceModelForm(
    json_object *object, const JobsApiModel *model, const Function *function);
/* Answers a GET with a description of the model that the address names. Errors: as
 * inference_model_find; INVALID a query; NOT_FOUND the model has no function main. */
MUST_CHECK Error *inference_model_answer(HttpService *service, const HttpRequest *request,
    InferenceModelForm *form, HttpResponse *response);

/* The members of a port in one form of a model's description. */
typedef struct InferencePortForm {
    const char *type_key, *shape_key;
    json_object *(*type)(DType dtype);
    bool skips_leading; /* the leading dimension is left out */
} InferencePortForm;
/* A list of ports; a dynamic dimension is -1. ports: NULL: an empty list. */
json_object *inference_model_ports(
    const InferencePortForm *form, const Port *ports, uint32_t count);
