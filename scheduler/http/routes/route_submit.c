#include <math.h>
#include <string.h>

#include <json-c/json_object.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "scheduler/http/server/http_service.h"
#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/json_fields.h"
#include "scheduler/http/server/multipart.h"

/* Upper bound on seconds: a century. */
static const double SECONDS_MAX = 100.0 * 365 * 24 * 3600;

static Error *read_shared(json_object *from, JobPolicy *inout_policy) {
    json_object *list = NULL;
    if (!json_object_object_get_ex(from, "shared", &list) || !list) return NULL;
    if (!json_object_is_type(list, json_type_array) ||
        json_object_array_length(list) > JOB_POLICY_SHARED_MAX)
        FAIL(INVALID, "shared: a list of at most %d names is wanted", JOB_POLICY_SHARED_MAX);
    size_t count = json_object_array_length(list);
    if (count == 0) return NULL;
    TRY(memory_alloc(count, sizeof *inout_policy->shared, (void **)&inout_policy->shared));
    for (size_t i = 0; i < count; i++) {
        json_object *item = json_object_array_get_idx(list, i);
        if (!json_object_is_type(item, json_type_string))
            FAIL(INVALID, "shared: a list of names is wanted");
        TRY(memory_copy_text(json_object_get_string(item), &inout_policy->shared[i]));
        inout_policy->shared_count++;
    }
    return NULL;
}

static Error *read_words(json_object *from, Submission *inout_submission) {
    const char *priority = NULL, *release = NULL;
    TRY(json_body_text(from, "priority", &priority));
    if (priority && !policy_class_find(priority, &inout_submission->priority))
        FAIL(INVALID, "priority: high, normal or low is wanted");
    TRY(json_body_text(from, "release", &release));
    if (release && strcmp(release, "log") && strcmp(release, "checkpoint"))
        FAIL(INVALID, "release: log or checkpoint is wanted");
    if (release && strcmp(release, "checkpoint") == 0)
        inout_submission->release = JOB_RELEASE_CHECKPOINT;
    TRY(json_body_text(from, "key", &inout_submission->key));
    const char *key = inout_submission->key;
    if (key && (!*key || strlen(key) >= JOB_KEY_SIZE))
        FAIL(INVALID, "key: 1 to %d bytes are wanted", JOB_KEY_SIZE - 1);
    return NULL;
}

/* Reads a count of at least 1; a missing field leaves *inout as it is. */
static Error *read_count(json_object *from, const char *name, int64_t max, uint64_t *inout) {
    int64_t value = (int64_t)*inout;
    TRY(json_body_number(from, name, 1, max, &value));
    *inout = (uint64_t)value;
    return NULL;
}

static Error *read_times(json_object *from, Submission *inout_submission) {
    JobPolicy *policy = &inout_submission->policy;
    double deadline_s = 0, checkpoint_every_s = 0;
    int64_t suspend_after_ms = -1;
    TRY(json_body_real(from, "deadline", 0, SECONDS_MAX, &deadline_s));
    TRY(json_body_real(from, "checkpoint_every", 0, SECONDS_MAX, &checkpoint_every_s));
    TRY(read_count(from, "suspend_after", INT64_MAX, &policy->suspend_at));
    TRY(json_body_number(from, "suspend_after_ms", 0, INT32_MAX, &suspend_after_ms));
    if (deadline_s > 0)
        inout_submission->deadline = clock_real().calendar_s(clock_real().self) + deadline_s;
    policy->checkpoint_every_ns = (uint64_t)(checkpoint_every_s * 1e9);
    policy->suspend_after_ns = job_policy_suspend_ns(suspend_after_ms);
    return NULL;
}

static Error *read_numbers(json_object *from, Submission *inout_submission) {
    JobPolicy *policy = &inout_submission->policy;
    uint64_t threads = 0;
    TRY(json_body_flag(from, "items", &policy->items));
    TRY(read_count(from, "batch", BATCH_SIZE_MAX, &policy->batch));
    TRY(read_count(from, "weight", JOB_POLICY_WEIGHT_MAX, &policy->weight));
    TRY(read_count(from, "checkpoint_keep", JOB_POLICY_KEEP_MAX, &policy->checkpoint_keep));
    TRY(read_count(from, "threads", JOB_POLICY_THREADS_MAX, &threads));
    TRY(json_body_flag(from, "check_finite", &policy->check_finite));
    policy->threads = (uint32_t)threads;
    return read_times(from, inout_submission);
}

/* Reads the part `policy`. The submission borrows model and key from the JSON. */
static Error *read_policy(json_object *from, Submission *out_submission) {
    static const char *const fields[] = {"model", "function", "device", "key", "items", "batch",
        "shared", "priority", "weight", "deadline", "checkpoint_every", "checkpoint_keep",
        "release", "threads", "suspend_after", "suspend_after_ms", "check_finite", NULL};
    const char *model = NULL, *function = NULL, *device = NULL;
    TRY(json_body_check_fields(from, fields));
    TRY(json_body_text(from, "model", &model));
    if (!model || strlen(model) >= MODEL_REFERENCE_SIZE)
        FAIL(INVALID, "model: a reference is wanted");
    TRY(json_body_text(from, "function", &function));
    TRY(json_body_text(from, "device", &device));
    TRY(submission_init(out_submission, function, device));
    out_submission->model = model;
    TRY(read_numbers(from, out_submission));
    TRY(read_words(from, out_submission));
    TRY(read_shared(from, &out_submission->policy));
    const JobPolicy *policy = &out_submission->policy;
    if (!policy->items && (policy->shared_count || policy->batch > 1))
        FAIL(INVALID, "batch and shared belong to items");
    return NULL;
}

Error *route_job_submit(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    static const char *const no_fields[] = {NULL};
    const JobsApi *jobs = &service->jobs;
    Multipart parts;
    JobsApiJob job = {0};
    Submission OWN_SUBMISSION(submission) = {0};
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
    if (!isnan(submission.deadline)) jobs_api_deadline_json(&job, object);
    return http_response_json(response, object);
}
