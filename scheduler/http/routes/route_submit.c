#include <string.h>

#include <json-c/json_object.h>

#include "scheduler/http/server/http_service.h"
#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/json_fields.h"
#include "scheduler/http/server/multipart.h"

/* Seconds: a century is for ever. */
static const double SECONDS_MAX = 100.0 * 365 * 24 * 3600;
enum { BATCH_MAX = 1 << 20, KEEP_MAX = 1000, THREADS_MAX = 4096 };

static Error *read_shared(json_object *policy, JobsApiSubmission *submission) {
    json_object *list = NULL;
    if (!json_object_object_get_ex(policy, "shared", &list) || !list) return NULL;
    if (!json_object_is_type(list, json_type_array) ||
        json_object_array_length(list) > JOBS_API_SHARED_MAX)
        FAIL(INVALID, "shared: a list of at most %d names is wanted", JOBS_API_SHARED_MAX);
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        json_object *item = json_object_array_get_idx(list, i);
        if (!json_object_is_type(item, json_type_string))
            FAIL(INVALID, "shared: a list of names is wanted");
        submission->shared[submission->shared_count++] = json_object_get_string(item);
    }
    return NULL;
}

static Error *read_words(json_object *policy, JobsApiSubmission *submission) {
    const char *priority = NULL, *release = NULL;
    TRY(json_body_text(policy, "priority", &priority));
    if (priority && !jobs_api_find_priority(priority, &submission->priority))
        FAIL(INVALID, "priority: high, normal or low is wanted");
    TRY(json_body_text(policy, "release", &release));
    if (release && strcmp(release, "log") && strcmp(release, "checkpoint"))
        FAIL(INVALID, "release: log or checkpoint is wanted");
    if (release && strcmp(release, "checkpoint") == 0)
        submission->release = JOBS_API_RELEASE_CHECKPOINT;
    TRY(json_body_text(policy, "key", &submission->key));
    if (submission->key && (!*submission->key || strlen(submission->key) > JOBS_API_KEY_MAX))
        FAIL(INVALID, "key: 1 to %d bytes are wanted", JOBS_API_KEY_MAX);
    return NULL;
}

static Error *read_policy(json_object *policy, JobsApiSubmission *submission) {
    static const char *const fields[] = {"model", "function", "device", "key", "items", "batch",
        "shared", "priority", "weight", "deadline", "checkpoint_every", "checkpoint_keep",
        "release", "threads", "suspend_after", "suspend_after_ms", "check_finite", NULL};
    TRY(json_body_check_fields(policy, fields));
    TRY(json_body_text(policy, "model", &submission->model));
    if (!submission->model || strlen(submission->model) >= JOBS_API_MODEL_SIZE)
        FAIL(INVALID, "model: a reference is wanted");
    TRY(json_body_text(policy, "function", &submission->function));
    TRY(json_body_text(policy, "device", &submission->device));
    TRY(json_body_flag(policy, "items", &submission->items));
    TRY(json_body_number(policy, "batch", 1, BATCH_MAX, &submission->batch));
    TRY(json_body_number(policy, "weight", 1, JOBS_API_WEIGHT_MAX, &submission->weight));
    TRY(json_body_real(policy, "deadline", 0, SECONDS_MAX, &submission->deadline_s));
    TRY(json_body_real(
        policy, "checkpoint_every", 0, SECONDS_MAX, &submission->checkpoint_every_s));
    TRY(json_body_number(policy, "checkpoint_keep", 1, KEEP_MAX, &submission->checkpoint_keep));
    TRY(json_body_number(policy, "threads", 1, THREADS_MAX, &submission->threads));
    TRY(json_body_number(policy, "suspend_after", 1, INT64_MAX, &submission->suspend_after));
    TRY(json_body_number(policy, "suspend_after_ms", 0, INT32_MAX, &submission->suspend_after_ms));
    TRY(json_body_flag(policy, "check_finite", &submission->check_finite));
    TRY(read_words(policy, submission));
    TRY(read_shared(policy, submission));
    if (!submission->items && (submission->shared_count || submission->batch > 1))
        FAIL(INVALID, "batch and shared belong to items");
    return NULL;
}

Error *route_job_submit(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    static const char *const no_fields[] = {NULL};
    const JobsApi *jobs = &service->jobs;
    Multipart parts;
    JobsApiJob job = {0};
    JobsApiSubmission submission = {.batch = 1,
        .priority = JOBS_API_PRIORITY_NORMAL,
        .weight = 1,
        .checkpoint_keep = 1,
        .suspend_after_ms = -1};
    OWN_JSON(policy) = NULL;
    json_object *object;
    TRY(http_request_check_query(request, no_fields));
    TRY(multipart_parse(request->content_type, request->body, request->body_size, &parts));
    const MultipartPart *words = multipart_find(&parts, "policy");
    const MultipartPart *inputs = multipart_find(&parts, "inputs");
    if (!words || parts.count != (inputs ? 2u : 1u))
        FAIL(INVALID, "the parts policy and inputs are wanted, and no others");
    if (words->size > HTTP_JSON_MAX)
        FAIL(TOO_LARGE, "policy: at most %d bytes are taken", HTTP_JSON_MAX);
    TRY(json_body_parse(words->data, words->size, &policy));
    TRY(read_policy(policy, &submission));
    submission.inputs = inputs ? inputs->data : NULL;
    submission.inputs_size = inputs ? inputs->size : 0;
    TRY(jobs->class_->submit(jobs->self, &request->caller, &submission, &job));
    TRY(json_fields_create(&object));
    json_fields_text(object, "job", job.job);
    json_fields_text(object, "state", job.state);
    if (submission.deadline_s > 0) jobs_api_deadline_json(&job, object);
    return http_response_json(response, object);
}
