#include <stdio.h>
#include <string.h>

#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/json_fields.h"
#include "scheduler/http/inference/inference_tensor.h"
#include "scheduler/http/routes/inference_model.h"
#include "store/models/model_serving.h"

enum { INDEX_MAX = 100000, INDEX_PAGE = 1000 };

static const char *const no_fields[] = {NULL};

/* Triton's name of a type: TYPE_FP32, but TYPE_STRING. */
static json_object *type_json(DType dtype) {
    char text[32];
    const char *name = inference_type_name(dtype);
    (void)snprintf(text, sizeof text, "TYPE_%s",
        dtype == DTYPE_STRING ? "STRING"
        : name                ? name
                              : "INVALID");
    return json_object_new_string(text);
}

static void add_batching(json_object *object, const ModelBatching *batching) {
    json_object *batcher = json_object_new_object();
    json_fields_int(batcher, "max_queue_delay_microseconds", batching->queue_delay_us);
    json_fields_add(object, "dynamic_batching", batcher);
}

/* Where requests are joined, dims leaves the leading dimension out, as max_batch_size says.
 * Elsewhere max_batch_size is 0, and dims has all dimensions. */
static void add_config(json_object *object, const JobsApiModel *model, const Function *function) {
    const bool joins = model->batching.items_max > 1;
    const InferencePortForm form = {"data_type", "dims", type_json, .skips_leading = joins};
    json_fields_text(object, "platform", INFERENCE_PLATFORM);
    json_fields_int(object, "max_batch_size", joins ? model->batching.items_max : 0);
    if (joins) add_batching(object, &model->batching);
    json_fields_add(object, "input",
        inference_model_ports(&form, function->parameters, function->parameter_count));
    json_fields_add(
        object, "output", inference_model_ports(&form, function->results, function->result_count));
}

Error *route_inference_config(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    return inference_model_answer(service, request, add_config, response);
}

static json_object *version_json(const ModelVersion *version) {
    char number[32];
    json_object *object = json_object_new_object();
    (void)snprintf(number, sizeof number, "%lld", (long long)version->version);
    json_fields_text(object, "name", version->model);
    json_fields_text(object, "version", number);
    json_fields_text(object, "state", version->unloaded ? "UNAVAILABLE" : "READY");
    if (version->unloaded) json_fields_text(object, "reason", "unloaded");
    return object;
}

/* Adds a page of versions. ready: only of models that take requests. out_more: others follow the
 * last one, whose place is in inout_*. */
static Error *add_page(HttpService *service, TenantId tenant, bool ready, json_object *array,
    char inout_model[MODEL_NAME_SIZE], int64_t *inout_version, bool *out_more) {
    OWN(ModelList, list) = NULL;
    TRY(models_list_page(service->store, tenant, inout_model, *inout_version, INDEX_PAGE, &list));
    for (size_t i = 0; i < list->count; i++)
        if (!ready || !list->items[i].unloaded)
            json_object_array_add(array, version_json(&list->items[i]));
    *out_more = list->more && list->count > 0;
    if (*out_more) {
        const ModelVersion *last = &list->items[list->count - 1];
        (void)snprintf(inout_model, MODEL_NAME_SIZE, "%s", last->model);
        *inout_version = last->version;
    }
    return NULL;
}

Error *route_repository_index(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    static const char *const fields[] = {"ready", NULL};
    OWN_JSON(body) = NULL;
    char model[MODEL_NAME_SIZE] = "";
    int64_t version = 0;
    bool ready = false, more = true;
    TRY(http_request_check_query(request, no_fields));
    TRY(json_body_parse(request->body, request->body_size, &body));
    TRY(json_body_check_fields(body, fields));
    TRY(json_body_flag(body, "ready", &ready));
    json_object *array = json_object_new_array();
    Error *error = NULL;
    while (!error && more && json_object_array_length(array) < INDEX_MAX)
        error = add_page(service, request->caller.tenant, ready, array, model, &version, &more);
    if (error) {
        json_object_put(array);
        return error;
    }
    return http_response_json(response, array);
}

static Error *set_unloaded(HttpService *service, const HttpRequest *request, bool unloaded) {
    return model_serving_set_unloaded(
        service->store, request->caller.tenant, http_request_name(request, 0), unloaded);
}

/* No model depends on another one, so unload_dependents changes nothing. */
Error *route_repository_unload(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    static const char *const fields[] = {"parameters", NULL};
    static const char *const parameter_fields[] = {"unload_dependents", NULL};
    OWN_JSON(body) = NULL;
    json_object *object, *parameters = NULL;
    bool dependents = false;
    TRY(http_request_check_query(request, no_fields));
    TRY(json_body_parse(request->body, request->body_size, &body));
    TRY(json_body_check_fields(body, fields));
    if (json_object_object_get_ex(body, "parameters", &parameters)) {
        if (!json_object_is_type(parameters, json_type_object))
            FAIL(INVALID, "parameters: an object is wanted");
        TRY(json_body_check_fields(parameters, parameter_fields));
        TRY(json_body_flag(parameters, "unload_dependents", &dependents));
    }
    TRY(set_unloaded(service, request, true));
    TRY(json_fields_create(&object));
    return http_response_json(response, object);
}

Error *route_repository_load(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    static const char *const fields[] = {"parameters", NULL};
    OWN_JSON(body) = NULL;
    JobsApiModel model;
    json_object *object, *parameters = NULL;
    TRY(http_request_check_query(request, no_fields));
    TRY(json_body_parse(request->body, request->body_size, &body));
    TRY(json_body_check_fields(body, fields));
    if (json_object_object_get_ex(body, "parameters", &parameters) &&
        (!json_object_is_type(parameters, json_type_object) ||
            json_object_object_length(parameters) > 0))
        FAIL(UNSUPPORTED,
            "parameters: a configuration or files are not taken; POST /v1/models/NAME stores a "
            "model");
    TRY(inference_model_find(service, request, &model));
    Error *error = model.unloaded ? set_unloaded(service, request, false) : NULL;
    if (error) {
        executable_release(model.outline);
        return error;
    }
    service->jobs.class_->model_stored(service->jobs.self, request->caller.tenant, &model.identity);
    executable_release(model.outline);
    TRY(json_fields_create(&object));
    return http_response_json(response, object);
}
