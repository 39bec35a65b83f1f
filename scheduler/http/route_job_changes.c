#include <unistd.h>

#include "base/allocator.h"
#include "scheduler/http/http_body.h"
#include "scheduler/http/http_service.h"
#include "scheduler/http/json_body.h"
#include "scheduler/http/json_fields.h"

static const char *const no_fields[] = {NULL};

/* {"job", "state"}: what submit and every change answer. {"was"}: a file's job has a new id. */
static Error *answer_state(HttpResponse *response, const JobsApiJob *job) {
    json_object *object;
    TRY(json_fields_create(&object));
    json_fields_text(object, "job", job->job);
    json_fields_text(object, "state", job->state);
    if (*job->was) json_fields_text(object, "was", job->was);
    return http_response_json(response, object);
}

/* fields: what the body may say. */
static Error *change(HttpService *service, const HttpRequest *request, HttpResponse *response,
    JobsApiChange what, const char *const *fields) {
    const JobsApi *jobs = &service->jobs;
    JobsApiChangeOptions options = {0};
    JobsApiJob job = {0};
    OWN_JSON(body) = NULL;
    TRY(http_request_check_query(request, no_fields));
    TRY(json_body_parse(request->body, request->body_size, &body));
    TRY(json_body_check_fields(body, fields));
    TRY(json_body_text(body, "device", &options.device));
    TRY(json_body_number(body, "from", 1, INT64_MAX, &options.checkpoint));
    TRY(jobs->class_->change(
        jobs->self, &request->caller, http_request_name(request, 0), what, &options, &job));
    return answer_state(response, &job);
}

/* A change that is asked for and answered when it is done. */
typedef struct AskedChange {
    HttpService *service;
    const HttpRequest *request; /* lives as long as its exchange */
    JobsApiQuestion what;
    JobsApiWait wait;
} AskedChange;

static void start_asked(void *self, HttpWaker waker) {
    AskedChange *asked = self;
    asked->wait.begin(asked->wait.self, waker);
}

static Error *finish_asked(void *self, HttpResponse *response) {
    AskedChange *asked = self;
    const JobsApi *jobs = &asked->service->jobs;
    const Caller *caller = &asked->request->caller;
    const char *id = http_request_name(asked->request, 0);
    const JobsApiChangeOptions options = {.asked = true};
    JobsApiJob job = {0};
    bool suspended;
    const JobsApiWait wait = asked->wait;
    asked->wait = (JobsApiWait){0};
    Error *error = wait.end(wait.self, &suspended);
    if (asked->what == JOBS_API_ASK_CHECKPOINT) {
        if (error_code(error) == ERROR_EXHAUSTED) return error; /* not where it is now */
        error_free(error); /* a fork goes on from the newest there is */
        TRY(jobs->class_->change(jobs->self, caller, id, JOBS_API_FORK, &options, &job));
    } else {
        TRY(error);
        TRY(jobs->class_->get(jobs->self, caller, id, &job));
    }
    return answer_state(response, &job);
}

static void close_asked(void *self) {
    AskedChange *asked = self;
    if (asked->wait.drop) asked->wait.drop(asked->wait.self);
    memory_free(asked);
}

static Error *ask(HttpService *service, const HttpRequest *request, HttpResponse *response,
    JobsApiQuestion what) {
    const JobsApi *jobs = &service->jobs;
    void *memory;
    TRY(memory_alloc(1, sizeof(AskedChange), &memory));
    AskedChange *asked = memory;
    *asked = (AskedChange){.service = service, .request = request, .what = what};
    Error *error = jobs->class_->ask(
        jobs->self, &request->caller, http_request_name(request, 0), what, &asked->wait);
    if (error) {
        memory_free(asked);
        return error;
    }
    http_response_wait(response,
        (HttpWait){
            .start = start_asked, .finish = finish_asked, .close = close_asked, .self = asked});
    return NULL;
}

static Error *check_empty(const HttpRequest *request) {
    OWN_JSON(body) = NULL;
    TRY(http_request_check_query(request, no_fields));
    TRY(json_body_parse(request->body, request->body_size, &body));
    return json_body_check_fields(body, no_fields);
}

Error *route_job_suspend(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    TRY(check_empty(request));
    return ask(service, request, response, JOBS_API_ASK_SUSPEND);
}

Error *route_job_resume(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    static const char *const fields[] = {"device", "from", NULL};
    return change(service, request, response, JOBS_API_RESUME, fields);
}

Error *route_job_cancel(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    TRY(check_empty(request));
    return ask(service, request, response, JOBS_API_ASK_CANCEL);
}

Error *route_job_fork(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    static const char *const fields[] = {"from", NULL};
    int64_t from = 0;
    OWN_JSON(body) = NULL;
    TRY(http_request_check_query(request, no_fields));
    TRY(json_body_parse(request->body, request->body_size, &body));
    TRY(json_body_check_fields(body, fields));
    TRY(json_body_number(body, "from", 1, INT64_MAX, &from));
    if (from) return change(service, request, response, JOBS_API_FORK, fields);
    return ask(service, request, response, JOBS_API_ASK_CHECKPOINT);
}

static Error *answer_verification(HttpResponse *response, const JobsApiVerification *found) {
    json_object *object;
    TRY(jobs_api_verification_json(found, &object));
    return http_response_json(response, object);
}

Error *route_job_verify(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    static const char *const fields[] = {"from", NULL};
    const JobsApi *jobs = &service->jobs;
    JobsApiVerification found = {0};
    int64_t from = 0;
    OWN_JSON(body) = NULL;
    TRY(http_request_check_query(request, no_fields));
    TRY(json_body_parse(request->body, request->body_size, &body));
    TRY(json_body_check_fields(body, fields));
    TRY(json_body_number(body, "from", 1, INT64_MAX, &from));
    TRY(jobs->class_->verify(
        jobs->self, &request->caller, http_request_name(request, 0), from, &found));
    return answer_verification(response, &found);
}

Error *route_job_verification(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    const JobsApi *jobs = &service->jobs;
    JobsApiVerification found = {0};
    OWN_JSON(body) = NULL;
    TRY(http_request_check_query(request, no_fields));
    TRY(json_body_parse(request->body, request->body_size, &body));
    TRY(json_body_check_fields(body, no_fields));
    TRY(jobs->class_->verification(
        jobs->self, &request->caller, http_request_name(request, 0), &found));
    return answer_verification(response, &found);
}

Error *route_job_remove(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    return change(service, request, response, JOBS_API_REMOVE, no_fields);
}

Error *route_checkpoint_restore(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    static const char *const fields[] = {"with_outputs", "device", "threads", "suspend_after",
        "suspend_after_ms", "check_finite", NULL};
    const JobsApi *jobs = &service->jobs;
    JobsApiRestoreOptions options = {.device = http_request_query(request, "device")};
    JobsApiJob job = {0};
    TRY(http_request_check_query(request, fields));
    TRY(http_request_query_flag(request, "with_outputs", &options.with_outputs));
    TRY(http_request_query_flag(request, "check_finite", &options.check_finite));
    TRY(http_request_query_number(request, "threads", 0, &options.threads));
    TRY(http_request_query_number(request, "suspend_after", 0, &options.suspend_after));
    TRY(http_request_query_number(request, "suspend_after_ms", -1, &options.suspend_after_ms));
    if (request->body_size == 0) FAIL(INVALID, "the checkpoint file is empty");
    const char *path = request->body_path;
    char *made_path = NULL;
    if (!path) {
        int made;
        TRY(http_service_make_file(service, &made, &made_path));
        Error *error = http_body_write(made, request->body, request->body_size);
        (void)close(made);
        if (!error)
            error = jobs->class_->restore(jobs->self, &request->caller, made_path, &options, &job);
        (void)unlink(made_path);
        memory_free(made_path);
        TRY(error);
    } else
        TRY(jobs->class_->restore(jobs->self, &request->caller, path, &options, &job));
    return answer_state(response, &job);
}
