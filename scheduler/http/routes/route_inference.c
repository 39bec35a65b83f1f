#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "scheduler/http/client/json_fields.h"
#include "scheduler/http/inference/inference_answer.h"
#include "scheduler/http/inference/inference_tensor.h"
#include "scheduler/http/routes/inference_model.h"
#include "scheduler/http/server/http_service.h"

static const char *const no_fields[] = {NULL};

/* The extensions of the protocol that this server has. */
static const char *const extensions[] = {"binary_tensor_data", "classification",
    "model_configuration", "model_repository", "model_repository(unload_dependents)", "parameters",
    "schedule_policy", "statistics"};

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
static json_object *type_json(DType dtype) {
    const char *name = inference_type_name(dtype);
    return json_object_new_string(name ? name : dtype_name(dtype));
}

static void add_metadata(json_object *object, const JobsApiModel *model, const Function *function) {
    static const InferencePortForm form = {"datatype", "shape", type_json, .skips_leading = false};
    char version[32];
    json_object *versions = json_object_new_array();
    (void)snprintf(version, sizeof version, "%lld", (long long)model->version);
    json_object_array_add(versions, json_object_new_string(version));
    json_fields_add(object, "versions", versions);
    json_fields_text(object, "platform", INFERENCE_PLATFORM);
    json_fields_add(object, "inputs",
        inference_model_ports(&form, function->parameters, function->parameter_count));
    json_fields_add(
        object, "outputs", inference_model_ports(&form, function->results, function->result_count));
}

Error *route_inference_model(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    return inference_model_answer(service, request, add_metadata, response);
}

Error *route_inference_ready(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    JobsApiModel model;
    json_object *object;
    TRY(http_request_check_query(request, no_fields));
    TRY(inference_model_find(service, request, &model));
    executable_release(model.outline);
    TRY(inference_model_check_loaded(request, &model));
    TRY(json_fields_create(&object));
    json_fields_text(object, "name", http_request_name(request, 0));
    json_fields_add(object, "ready", json_object_new_boolean(true));
    return http_response_json(response, object);
}

/* ---- a request ---- */

/* A request whose run is under way. */
typedef struct Inference {
    InferenceRequest request;
    struct InferenceStatistics *statistics;
    Metrics *metrics;
    InferenceSubject subject;
    InferenceSample sample;
    uint64_t begin_ns;
    JobsApiRun run; /* zeroed once its end was asked for */
} Inference;

static uint64_t now_ns(void) { return clock_now_ns(clock_real()); }

/* Counts a request that has an answer. */
static void count(Inference *inference, bool failed) {
    InferenceSample *sample = &inference->sample;
    sample->failed = failed;
    sample->ns[failed ? INFERENCE_PART_FAIL : INFERENCE_PART_SUCCESS] =
        now_ns() - inference->begin_ns;
    inference_statistics_add(inference->statistics, &inference->subject, sample);
    if (failed || !inference->metrics) return;
    static const struct {
        InferencePart part;
        MetricId metric;
    } times[] = {{INFERENCE_PART_SUCCESS, METRIC_INFERENCE_REQUEST_SECONDS},
        {INFERENCE_PART_QUEUE, METRIC_INFERENCE_QUEUE_SECONDS},
        {INFERENCE_PART_COMPUTE_INFER, METRIC_INFERENCE_COMPUTE_SECONDS}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        metrics_observe_of(inference->metrics, times[i].metric, inference->subject.model,
            sample->ns[times[i].part]);
}

static void start(void *self, HttpWaker waker) {
    const Inference *inference = self;
    inference->run.begin(inference->run.self, waker);
}

static void help(void *self, bool brief) {
    const Inference *inference = self;
    inference->run.help(inference->run.self, brief);
}

static void cut(void *self) {
    const Inference *inference = self;
    inference->run.cut(inference->run.self);
}

/* Ends the run and writes its outputs. */
static Error *write_answer(Inference *inference, HttpResponse *response) {
    const JobsApiRun run = inference->run;
    InferenceSample *sample = &inference->sample;
    const InferenceSubject *subject = &inference->subject;
    ArrayList OWN_ARRAYS(outputs) = {0};
    JobsApiRunTimes times;
    inference->run = (JobsApiRun){0};
    const uint64_t begin_ns = now_ns();
    TRY(run.end(run.self, &outputs, &times));
    TRY(inference_answer_write(
        &inference->request, subject->model, subject->version, &outputs, response));
    sample->ns[INFERENCE_PART_QUEUE] = times.queue_ns;
    sample->ns[INFERENCE_PART_COMPUTE_INFER] = times.device_ns;
    sample->ns[INFERENCE_PART_COMPUTE_OUTPUT] = now_ns() - begin_ns;
    sample->items = times.items;
    sample->batch_size = times.batch_size;
    sample->leads = times.leads;
    return NULL;
}

static Error *finish(void *self, HttpResponse *response) {
    Inference *inference = self;
    Error *error = write_answer(inference, response);
    response->elsewhere_ns = inference->sample.ns[INFERENCE_PART_COMPUTE_INFER];
    count(inference, error != NULL);
    return error;
}

static void close_inference(void *self) {
    Inference *inference = self;
    if (inference->run.drop) inference->run.drop(inference->run.self);
    inference_request_deinit(&inference->request);
    memory_free(inference);
}

/* Makes the run of the request's inputs, which move into it. */
static Error *make_run(HttpService *service, const HttpRequest *http, const JobsApiModel *model,
    Inference *inference) {
    const JobsApi *jobs = &service->jobs;
    InferenceRequest *request = &inference->request;
    Submission OWN_SUBMISSION(submission) = {0};
    TRY(submission_init(&submission, request->function, NULL));
    submission.priority = request->priority;
    submission.brief = http->brief;
    if (request->timeout_us)
        submission.deadline =
            clock_real().calendar_s(clock_real().self) + (double)request->timeout_us * 1e-6;
    return jobs->class_->run(
        jobs->self, &http->caller, model, &submission, &request->inputs, &inference->run);
}

static Error *begin(HttpService *service, const HttpRequest *request, Inference *inference) {
    JobsApiModel model;
    inference->begin_ns = now_ns();
    TRY(inference_model_find(service, request, &model));
    inference->statistics = service->inferences;
    inference->metrics = service->metrics;
    inference->subject = inference_model_subject(request, &model);
    Error *error = inference_model_check_loaded(request, &model);
    if (!error) error = inference_request_read(request, &inference->request);
    if (!error) error = make_run(service, request, &model, inference);
    executable_release(model.outline);
    /* a brief request that would have to wait comes again */
    if (error && !(request->brief && error_code(error) == ERROR_EXHAUSTED)) count(inference, true);
    inference->sample.ns[INFERENCE_PART_COMPUTE_INPUT] = now_ns() - inference->begin_ns;
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
                                     .help = help,
                                     .cut = cut,
                                     .finish = finish,
                                     .close = close_inference,
                                     .self = memory});
    return NULL;
}
