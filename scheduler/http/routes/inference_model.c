#include "scheduler/http/routes/inference_model.h"

#include <stdio.h>

#include "scheduler/http/client/json_fields.h"
#include "store/models/model_reference.h"

Error *inference_model_find(
    HttpService *service, const HttpRequest *request, JobsApiModel *out_model) {
    const JobsApi *jobs = &service->jobs;
    const char *model = http_request_name(request, 0);
    const char *version = request->match.name_count > 1 ? http_request_name(request, 1) : NULL;
    char reference[MODEL_REFERENCE_SIZE];
    if (!text_is_name(model)) FAIL(INVALID, "%.80s is no model name", model);
    if (version && !text_is_name(version)) FAIL(INVALID, "%.80s is no version or alias", version);
    (void)snprintf(reference, sizeof reference, version ? "%s@%s" : "%s", model, version);
    return jobs->class_->find_model(jobs->self, &request->caller, reference, out_model);
}

Error *inference_model_check_loaded(const HttpRequest *request, const JobsApiModel *model) {
    const char *name = http_request_name(request, 0);
    if (model->unloaded)
        FAIL(UNREACHABLE, "model %s is unloaded; POST /v2/repository/models/%s/load loads it", name,
            name);
    return NULL;
}

InferenceSubject inference_model_subject(const HttpRequest *request, const JobsApiModel *model) {
    InferenceSubject subject = {
        .tenant = request->caller.tenant, .version = model->version, .identity = model->identity};
    (void)snprintf(subject.model, sizeof subject.model, "%s", http_request_name(request, 0));
    return subject;
}

static Error *describe(
    const char *name, const JobsApiModel *model, InferenceModelForm *form, json_object **out) {
    uint32_t index;
    json_object *object;
    TRY(executable_find_function(model->outline, "main", &index));
    TRY(json_fields_create(&object));
    json_fields_text(object, "name", name);
    form(object, model, &model->outline->functions[index]);
    *out = object;
    return NULL;
}

Error *inference_model_answer(HttpService *service, const HttpRequest *request,
    InferenceModelForm *form, HttpResponse *response) {
    static const char *const no_fields[] = {NULL};
    JobsApiModel model;
    json_object *object = NULL;
    TRY(http_request_check_query(request, no_fields));
    TRY(inference_model_find(service, request, &model));
    Error *error = describe(http_request_name(request, 0), &model, form, &object);
    executable_release(model.outline);
    TRY(error);
    return http_response_json(response, object);
}

json_object *inference_model_ports(
    const InferencePortForm *form, const Port *ports, uint32_t count) {
    json_object *array = json_object_new_array();
    for (uint32_t i = 0; ports && i < count; i++) {
        const Port *port = &ports[i];
        json_object *item = json_object_new_object(), *shape = json_object_new_array();
        for (uint32_t d = form->skips_leading; port->rank_known && d < port->shape.rank; d++)
            json_object_array_add(shape, json_object_new_int64(port->shape.dims[d]));
        json_fields_text(item, "name", port->name);
        json_fields_add(item, form->type_key, form->type(port->dtype));
        json_fields_add(item, form->shape_key, shape);
        json_object_array_add(array, item);
    }
    return array;
}
