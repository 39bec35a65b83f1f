#include <unistd.h>

#include "base/allocator.h"
#include "scheduler/http/server/http_service.h"
#include "scheduler/http/server/job_question.h"
#include "scheduler/node/upload_file.h"
#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/json_fields.h"

static const char *const no_fields[] = {NULL};

/* {"job", "state"}: the answer of submit and of every change. {"was"}: a file's job has a new
 * id. */
static Error *answer_state(HttpResponse *response, const JobsApiJob *job) {
    json_object *object;
    TRY(json_fields_create(&object));
    json_fields_text(object, "job", job->job);
    json_fields_text(object, "state", job->state);
    if (*job->was) json_fields_text(object, "was", job->was);
    return http_response_json(response, object);
}

/* fields: the fields that the body may have. */
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

static Error *answer_asked(
    const JobQuestion *question, Error *owned_error, bool suspended, HttpResponse *response) {
    const JobsApi *jobs = &question->service->jobs;
    const Caller *caller = &question->request->caller;
    const char *id = http_request_name(question->request, 0);
    const JobsApiChangeOptions options = {.asked = true};
    JobsApiJob job = {0};
    (void)suspended; /* the job's state says so */
    if (question->what == JOBS_API_ASK_CHECKPOINT) {
        if (error_code(owned_error) == ERROR_EXHAUSTED)
            return owned_error;  /* the newest checkpoint is not where the job is now */
        error_free(owned_error); /* a fork continues from the newest checkpoint */
        TRY(jobs->class_->change(jobs->self, caller, id, JOBS_API_FORK, &options, &job));
    } else {
        TRY(owned_error);
        TRY(jobs->class_->get(jobs->self, caller, id, &job));
    }
    return answer_state(response, &job);
}

static Error *ask(HttpService *service, const HttpRequest *request, HttpResponse *response,
    JobsApiQuestion what) {
    const JobQuestion question = {
        .service = service, .request = request, .what = what, .answer = answer_asked};
    return job_question_ask(&question, response);
}

static Error *check_empty(const HttpRequest *request) {
    OWN_JSON(body) = NULL;
    TRY(http_request_check_query(request, no_fields));
    TRY(json_body_parse(request->body, request->body_size, &body));
    return json_body_check_fields(body, no_fields);
}

/* {"from"}: a checkpoint's number; 0: the body names none. */
static Error *read_from(const HttpRequest *request, int64_t *out_from) {
    static const char *const fields[] = {"from", NULL};
    OWN_JSON(body) = NULL;
    *out_from = 0;
    TRY(http_request_check_query(request, no_fields));
    TRY(json_body_parse(request->body, request->body_size, &body));
    TRY(json_body_check_fields(body, fields));
    return json_body_number(body, "from", 1, INT64_MAX, out_from);
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
    int64_t from;
    TRY(read_from(request, &from));
    if (from) return change(service, request, response, JOBS_API_FORK, fields);
    return ask(service, request, response, JOBS_API_ASK_CHECKPOINT);
}

static Error *answer_verification(HttpResponse *response, const JobsApiVerification *found) {
    json_object *object;
    TRY(jobs_api_verification_json(found, &object));
    return http_response_json(response, object);
}

Error *route_job_verify(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    const JobsApi *jobs = &service->jobs;
    JobsApiVerification found = {0};
    int64_t from;
    TRY(read_from(request, &from));
    TRY(jobs->class_->verify(
        jobs->self, &request->caller, http_request_name(request, 0), from, &found));
    return answer_verification(response, &found);
}

Error *route_job_verification(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    const JobsApi *jobs = &service->jobs;
    JobsApiVerification found = {0};
    TRY(check_empty(request));
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
        TRY(upload_file_make(service->upload_folder, &made, &made_path));
        Error *error = upload_file_write(made, request->body, request->body_size);
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
