#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "scheduler/http/client/json_fields.h"
#include "scheduler/http/inference/inference_answer.h"
#include "scheduler/http/routes/inference_model.h"
#include "scheduler/http/inference/inference_tensor.h"
#include "scheduler/http/server/http_service.h"
#include "store/models/models.h"

static const char *const no_fields[] = {NULL};

/* The extensions of the protocol that this server has. */
static const char *const extensions[] = {"binary_tensor_data", "classification",
    "model_configuration", "model_repository", "parameters", "schedule_policy"};

Error *route_server_get(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    json_object *object, *list = json_object_new_array();
    TRY(http_request_check_query(request, no_fields));
    TRY(json_fields_create(&object));
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++)
        json_object_array_add(list, json_object_new_string(extensions[i]));
    json_fields_text(object, "name", "layover");
    json_fields_text(object, "version", service->version ? service->version : "");
    json_fields_add(object, "extensions", list);
    return http_response_json(response, object);
}

/* ---- what a model takes and gives ---- */

/* Types that the protocol lacks have the names that `layover show` gives them. */
static json_object *ports_json(const Port *ports, uint32_t count) {
    json_object *array = json_object_new_array();
    for (uint32_t i = 0; ports && i < count; i++) {
        const Port *port = &ports[i];
        const char *type = inference_type_name(port->dtype);
        json_object *item = json_object_new_object(), *shape = json_object_new_array();
        for (uint32_t d = 0; port->rank_known && d < port->shape.rank; d++)
            json_object_array_add(shape, json_object_new_int64(port->shape.dims[d]));
        json_fields_text(item, "name", port->name);
        json_fields_text(item, "datatype", type ? type : dtype_name(port->dtype));
        json_fields_add(item, "shape", shape);
        json_object_array_add(array, item);
    }
    return array;
}

static Error *model_json(const char *name, const JobsApiModel *model, json_object **out) {
    char version[32];
    uint32_t index;
    json_object *object, *versions = json_object_new_array();
    TRY(executable_find_function(model->outline, "main", &index));
    const Function *function = &model->outline->functions[index];
    (void)snprintf(version, sizeof version, "%lld", (long long)model->version);
    json_object_array_add(versions, json_object_new_string(version));
    TRY(json_fields_create(&object));
    json_fields_text(object, "name", name);
    json_fields_add(object, "versions", versions);
    json_fields_text(object, "platform", "layover_lvx");
    json_fields_add(object, "inputs", ports_json(function->parameters, function->parameter_count));
    json_fields_add(object, "outputs", ports_json(function->results, function->result_count));
    *out = object;
    return NULL;
}

Error *route_inference_model(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    JobsApiModel model;
    json_object *object = NULL;
    TRY(http_request_check_query(request, no_fields));
    TRY(inference_model_find(service, request, &model));
    Error *error = model_json(http_request_name(request, 0), &model, &object);
    executable_release(model.outline);
    TRY(error);
    return http_response_json(response, object);
}

Error *route_inference_ready(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    JobsApiModel model;
    json_object *object;
    TRY(http_request_check_query(request, no_fields));
    TRY(inference_model_find(service, request, &model));
    executable_release(model.outline);
    TRY(json_fields_create(&object));
    json_fields_text(object, "name", http_request_name(request, 0));
    json_fields_add(object, "ready", json_object_new_boolean(true));
    return http_response_json(response, object);
}

/* ---- a request ---- */

/* A request whose run is under way. */
typedef struct Inference {
    InferenceRequest request;
    char model[MODEL_NAME_SIZE];
    int64_t version;
    JobsApiRun run; /* zeroed once its end was asked for */
} Inference;

static void start(void *self, HttpWaker waker) {
    const Inference *inference = self;
    inference->run.begin(inference->run.self, waker);
}

static void cut(void *self) {
    const Inference *inference = self;
    inference->run.cut(inference->run.self);
}

static Error *finish(void *self, HttpResponse *response) {
    Inference *inference = self;
    const JobsApiRun run = inference->run;
    ArrayList OWN_ARRAYS(outputs) = {0};
    JobsApiRunTimes times;
    inference->run = (JobsApiRun){0};
    TRY(run.end(run.self, &outputs, &times));
    return inference_answer_write(
        &inference->request, inference->model, inference->version, &outputs, response);
}

static void close_inference(void *self) {
    Inference *inference = self;
    if (inference->run.drop) inference->run.drop(inference->run.self);
    inference_request_deinit(&inference->request);
    memory_free(inference);
}

/* Makes the run of the request's inputs, which move into it. */
static Error *make_run(
    HttpService *service, const Caller *caller, const JobsApiModel *model, Inference *inference) {
    const JobsApi *jobs = &service->jobs;
    InferenceRequest *request = &inference->request;
    Submission OWN_SUBMISSION(submission) = {0};
    TRY(submission_init(&submission, request->function, NULL));
    submission.priority = request->priority;
    if (request->timeout_us)
        submission.deadline =
            clock_real().calendar_s(clock_real().self) + (double)request->timeout_us * 1e-6;
    inference->version = model->version;
    return jobs->class_->run(
        jobs->self, caller, model, &submission, &request->inputs, &inference->run);
}

static Error *begin(HttpService *service, const HttpRequest *request, Inference *inference) {
    JobsApiModel model;
    TRY(inference_model_find(service, request, &model));
    (void)snprintf(inference->model, sizeof inference->model, "%s", http_request_name(request, 0));
    Error *error = inference_request_read(request, &inference->request);
    if (!error) error = make_run(service, &request->caller, &model, inference);
    executable_release(model.outline);
    return error;
}

Error *route_infer(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    void *memory;
    TRY(http_request_check_query(request, no_fields));
    TRY(memory_alloc(1, sizeof(Inference), &memory));
    Error *error = begin(service, request, memory);
    if (error) {
        close_inference(memory);
        return error;
    }
    http_response_wait(response, (HttpWait){.start = start,
                                     .cut = cut,
                                     .finish = finish,
                                     .close = close_inference,
                                     .self = memory});
    return NULL;
}
