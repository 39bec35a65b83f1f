#include <stdio.h>

#include "scheduler/http/client/json_fields.h"
#include "scheduler/http/routes/inference_model.h"
#include "scheduler/node/inference_statistics.h"

static const char *const no_fields[] = {NULL};

static void add_duration(
    json_object *inout_object, InferencePart part, const InferenceDuration *duration) {
    json_object *object = json_object_new_object();
    json_fields_int(object, "count", (int64_t)duration->count);
    json_fields_int(object, "ns", (int64_t)duration->ns);
    json_fields_add(inout_object, inference_part_name(part), object);
}

static json_object *batch_json(const InferenceBatchStatistics *batch) {
    json_object *object = json_object_new_object();
    json_fields_int(object, "batch_size", (int64_t)batch->size);
    for (InferencePart part = 0; part < INFERENCE_PART_COUNT; part++)
        if (inference_part_is_of_run(part)) add_duration(object, part, &batch->parts[part]);
    return object;
}

static json_object *model_json(const InferenceModelStatistics *model) {
    char version[32];
    json_object *object = json_object_new_object(), *parts = json_object_new_object();
    json_object *batches = json_object_new_array();
    (void)snprintf(version, sizeof version, "%lld", (long long)model->subject.version);
    for (InferencePart part = 0; part < INFERENCE_PART_COUNT; part++)
        add_duration(parts, part, &model->parts[part]);
    for (size_t i = 0; i < model->batch_count; i++)
        json_object_array_add(batches, batch_json(&model->batches[i]));
    json_fields_text(object, "name", model->subject.model);
    json_fields_text(object, "version", version);
    json_fields_int(object, "last_inference", (int64_t)(model->last * 1000));
    json_fields_int(object, "inference_count", (int64_t)model->items);
    json_fields_int(object, "execution_count", (int64_t)model->runs);
    json_fields_add(object, "inference_stats", parts);
    json_fields_add(object, "batch_stats", batches);
    return object;
}

static Error *answer(json_object *owned_models, HttpResponse *response) {
    json_object *object;
    Error *error = json_fields_create(&object);
    if (error) {
        json_object_put(owned_models);
        return error;
    }
    json_fields_add(object, "model_stats", owned_models);
    return http_response_json(response, object);
}

static Error *add_model(void *context, const InferenceModelStatistics *model) {
    json_object_array_add(context, model_json(model));
    return NULL;
}

Error *route_statistics_list(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    TRY(http_request_check_query(request, no_fields));
    json_object *models = json_object_new_array();
    Error *error =
        inference_statistics_visit(service->inferences, request->caller.tenant, add_model, models);
    if (error) {
        json_object_put(models);
        return error;
    }
    return answer(models, response);
}

Error *route_statistics_get(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    JobsApiModel model;
    InferenceModelStatistics statistics;
    TRY(http_request_check_query(request, no_fields));
    TRY(inference_model_find(service, request, &model));
    executable_release(model.outline);
    const InferenceSubject subject = inference_model_subject(request, &model);
    inference_statistics_get(service->inferences, &subject, &statistics);
    json_object *models = json_object_new_array();
    json_object_array_add(models, model_json(&statistics));
    return answer(models, response);
}
