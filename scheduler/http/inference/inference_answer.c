#include "scheduler/http/inference/inference_answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/http/inference/classification.h"
#include "scheduler/http/inference/inference_tensor.h"

static const char type_bytes[] = "application/octet-stream";

/* An answer while it is made. */
typedef struct Answer {
    const InferenceRequest *request;
    TextBuilder *json;
    TextBuilder bytes; /* of the outputs so far */
    uint32_t count;    /* of outputs so far */
} Answer;

static Error *add_output(Answer *answer, const NamedArray *array, const InferenceOutput *output) {
    TextBuilder *json = answer->json;
    const char *type = inference_type_name(array->dtype);
    if (!type)
        FAIL(UNSUPPORTED, "output %s: the protocol has no type for %s", array->name,
            dtype_name(array->dtype));
    text_append(json, answer->count++ ? ",{\"name\":" : "{\"name\":");
    inference_text_print(array->name, json);
    text_appendf(json, ",\"datatype\":\"%s\",\"shape\":[", type);
    for (uint32_t i = 0; i < array->shape.rank; i++)
        text_appendf(json, i ? ",%" PRId64 : "%" PRId64, array->shape.dims[i]);
    if (output->binary) {
        text_appendf(json, "],\"parameters\":{\"binary_data_size\":%" PRIu64 "}}",
            inference_tensor_size(array));
        inference_tensor_write(array, &answer->bytes);
        return NULL;
    }
    text_append(json, "],\"data\":");
    TRY(inference_tensor_print(array, json));
    text_append(json, "}");
    return NULL;
}

static Error *add_classes(Answer *answer, const NamedArray *array, const InferenceOutput *output) {
    NamedArray classes = {0};
    TRY(classification_make(array, output->classes, &classes));
    Error *error = add_output(answer, &classes, output);
    named_array_deinit(&classes);
    return error;
}

static Error *add_outputs(Answer *answer, const ArrayList *outputs) {
    const InferenceRequest *request = answer->request;
    InferenceOutput output;
    for (size_t i = 0; i < request->output_count; i++)
        if (!array_list_find(outputs, request->outputs[i].name))
            FAIL(INVALID, "there is no output %.128s", request->outputs[i].name);
    for (size_t i = 0; i < outputs->count; i++) {
        const NamedArray *array = &outputs->items[i];
        if (!inference_request_wants(request, array->name, &output)) continue;
        TRY(output.classes ? add_classes(answer, array, &output)
                           : add_output(answer, array, &output));
    }
    return NULL;
}

static Error *write_json(
    Answer *answer, const char *model, int64_t version, const ArrayList *outputs) {
    TextBuilder *json = answer->json;
    text_append(json, "{\"model_name\":");
    inference_text_print(model, json);
    text_appendf(json, ",\"model_version\":\"%" PRId64 "\"", version);
    if (answer->request->id) {
        text_append(json, ",\"id\":");
        inference_text_print(answer->request->id, json);
    }
    text_append(json, ",\"outputs\":[");
    TRY(add_outputs(answer, outputs));
    text_append(json, "]}");
    return text_builder_check(json);
}

Error *inference_answer_write(const InferenceRequest *request, const char *model, int64_t version,
    const ArrayList *outputs, HttpResponse *response) {
    Answer answer = {.request = request, .json = &response->text};
    Error *error = write_json(&answer, model, version, outputs);
    if (!error) error = text_builder_check(&answer.bytes);
    if (!error && answer.bytes.size) {
        char length[HTTP_HEADER_VALUE_SIZE];
        (void)snprintf(length, sizeof length, "%zu", response->text.size);
        http_response_header(response, HTTP_JSON_LENGTH, length);
        response->content_type = type_bytes;
        text_append_bytes(&response->text, answer.bytes.data, answer.bytes.size);
        error = text_builder_check(&response->text);
    }
    text_builder_deinit(&answer.bytes);
    return error;
}
