#pragma once
/* The body of an inference request: JSON, and behind it the bytes of those inputs that are not in
 * it. Called by route_inference.c, on handler threads; a request belongs to its caller. */
#include <json-c/json_object.h>

#include "scheduler/http/server/http_request.h"
#include "scheduler/policy/policy_event.h"
#include "serialize/arrays/array_list.h"

enum {
    INFERENCE_OUTPUTS_MAX = 1024,
    INFERENCE_INPUTS_MAX = 1024,
    INFERENCE_JSON_MAX = 4 << 20, /* bytes; a parsed element takes thirty times its text */
};

/* How an output is wanted. */
typedef struct InferenceOutput {
    const char *name; /* borrowed from the JSON */
    bool binary;
    uint64_t classes; /* 0: the output itself; else its largest elements, so many */
} InferenceOutput;

typedef struct InferenceRequest {
    json_object *json;    /* the memory of the texts */
    const char *id;       /* NULL: none */
    const char *function; /* NULL: main */
    ArrayList inputs;
    InferenceOutput *outputs;
    size_t output_count; /* 0: all outputs are wanted */
    bool binary_outputs; /* where no output says otherwise */
    PolicyClass priority;
    uint64_t timeout_us; /* 0: none */
} InferenceRequest;

/* Errors: INVALID the field or the input that is wrong, by its name; UNSUPPORTED shared memory. */
MUST_CHECK Error *inference_request_read(const HttpRequest *from, InferenceRequest *out_request);
void inference_request_deinit(InferenceRequest *request);
#define OWN_INFERENCE(name) __attribute__((cleanup(inference_request_deinit))) name
/* How an output of that name is wanted; false: it is not. */
bool inference_request_wants(
    const InferenceRequest *request, const char *name, InferenceOutput *out_output);
