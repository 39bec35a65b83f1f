#include <stdio.h>
#include <string.h>

#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/json_fields.h"
#include "scheduler/http/inference/inference_tensor.h"
#include "scheduler/http/routes/inference_model.h"
#include "store/models/models.h"

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

static json_object *ports_json(const Port *ports, uint32_t count) {
    json_object *array = json_object_new_array();
    for (uint32_t i = 0; ports && i < count; i++) {
        const Port *port = &ports[i];
        json_object *item = json_object_new_object(), *dims = json_object_new_array();
        for (uint32_t d = 0; port->rank_known && d < port->shape.rank; d++)
            json_object_array_add(dims, json_object_new_int64(port->shape.dims[d]));
        json_fields_text(item, "name", port->name);
        json_fields_add(item, "data_type", type_json(port->dtype));
        json_fields_add(item, "dims", dims);
        json_object_array_add(array, item);
    }
    return array;
}

/* max_batch_size 0: the leading dimension is one of those in dims. */
static Error *config_json(const char *name, const JobsApiModel *model, json_object **out) {
    uint32_t index;
    json_object *object;
    TRY(executable_find_function(model->outline, "main", &index));
    const Function *function = &model->outline->functions[index];
    TRY(json_fields_create(&object));
    json_fields_text(object, "name", name);
    json_fields_text(object, "platform", "layover_lvx");
    json_fields_int(object, "max_batch_size", 0);
    json_fields_add(object, "input", ports_json(function->parameters, function->parameter_count));
    json_fields_add(object, "output", ports_json(function->results, function->result_count));
    *out = object;
    return NULL;
}

Error *route_inference_config(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    JobsApiModel model;
    json_object *object = NULL;
    TRY(http_request_check_query(request, no_fields));
    TRY(inference_model_find(service, request, &model));
    Error *error = config_json(http_request_name(request, 0), &model, &object);
    executable_release(model.outline);
    TRY(error);
    return http_response_json(response, object);
}

static json_object *version_json(const ModelVersion *version) {
    char number[32];
    json_object *object = json_object_new_object();
    (void)snprintf(number, sizeof number, "%lld", (long long)version->version);
    json_fields_text(object, "name", version->model);
    json_fields_text(object, "version", number);
    json_fields_text(object, "state", "READY");
    return object;
}

/* Adds a page of versions. out_more: others follow the last one, whose place is in inout_*. */
static Error *add_page(HttpService *service, TenantId tenant, json_object *array,
    char inout_model[MODEL_NAME_SIZE], int64_t *inout_version, bool *out_more) {
    OWN(ModelList, list) = NULL;
    TRY(models_list_page(service->store, tenant, inout_model, *inout_version, INDEX_PAGE, &list));
    for (size_t i = 0; i < list->count; i++)
        json_object_array_add(array, version_json(&list->items[i]));
    *out_more = list->more && list->count > 0;
    if (*out_more) {
        const ModelVersion *last = &list->items[list->count - 1];
        (void)snprintf(inout_model, MODEL_NAME_SIZE, "%s", last->model);
        *inout_version = last->version;
    }
    return NULL;
}

/* Every stored version is ready, so the wish for ready ones leaves none out. */
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
        error = add_page(service, request->caller.tenant, array, model, &version, &more);
    if (error) {
        json_object_put(array);
        return error;
    }
    return http_response_json(response, array);
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
    service->jobs.class_->model_stored(service->jobs.self, request->caller.tenant, &model.identity);
    executable_release(model.outline);
    TRY(json_fields_create(&object));
    return http_response_json(response, object);
}
