#include "scheduler/executor/batch_join.h"
#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/json_fields.h"
#include "scheduler/http/server/http_service.h"
#include "store/models/model_serving.h"

static const char *const no_fields[] = {NULL};

/* The numbers that are given replace those of inout_batching. out_changes: some are given. */
static Error *read_batching(
    const HttpRequest *request, ModelBatching *inout_batching, bool *out_changes) {
    static const char *const fields[] = {"max_batch", "queue_delay_us", NULL};
    OWN_JSON(body) = NULL;
    TRY(json_body_parse(request->body, request->body_size, &body));
    TRY(json_body_check_fields(body, fields));
    TRY(json_body_number(body, "max_batch", 1, MODEL_BATCH_MAX, &inout_batching->items_max));
    TRY(json_body_number(
        body, "queue_delay_us", 0, MODEL_QUEUE_DELAY_US_MAX, &inout_batching->queue_delay_us));
    *out_changes = json_object_object_length(body) > 0;
    return NULL;
}

static Error *check_main(const Executable *outline) {
    uint32_t index;
    TRY(executable_find_function(outline, "main", &index));
    return batch_join_check(&outline->functions[index]);
}

/* Which batching the version has, and with the request's numbers. */
static Error *find_batching(HttpService *service, const HttpRequest *request,
    ModelBatching *out_batching, bool *out_changes) {
    const JobsApi *jobs = &service->jobs;
    JobsApiModel model;
    TRY(jobs->class_->find_model(
        jobs->self, &request->caller, http_request_name(request, 0), &model));
    *out_batching = model.batching;
    Error *error = read_batching(request, out_batching, out_changes);
    if (!error && out_batching->items_max > 1 && *out_changes) error = check_main(model.outline);
    executable_release(model.outline);
    return error;
}

Error *route_model_config(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    const char *reference = http_request_name(request, 0);
    ModelVersion OWN_VERSION(version) = {0};
    ModelBatching batching;
    bool changes = false;
    json_object *object;
    TRY(http_request_check_query(request, no_fields));
    TRY(find_batching(service, request, &batching, &changes));
    if (changes)
        TRY(model_serving_set_batching(
            service->store, request->caller.tenant, reference, &batching));
    TRY(models_find(service->store, request->caller.tenant, reference, &version));
    TRY(json_fields_create(&object));
    json_fields_text(object, "model", version.model);
    json_fields_int(object, "version", version.version);
    json_fields_int(object, "max_batch", version.batching.items_max);
    json_fields_int(object, "queue_delay_us", version.batching.queue_delay_us);
    return http_response_json(response, object);
}
