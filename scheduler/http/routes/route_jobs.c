#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/allocator.h"
#include "scheduler/http/server/http_page.h"
#include "scheduler/http/server/http_service.h"
#include "scheduler/http/server/job_question.h"
#include "scheduler/node/upload_file.h"
#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/json_fields.h"
#include "store/jobs/jobs.h"

static const char *const no_fields[] = {NULL};
static const char *const since_fields[] = {"since", NULL};

enum { EVENTS_SHOWN_MAX = 1000, EVENTS_LOOKED_AT_MAX = 100000 }; /* with the job itself */

/* A page of one of these lists, while it is written. */
typedef struct Listing {
    HttpPage page;
    int64_t last; /* the last line's place in the list */
    HttpResponse *response;
} Listing;

static Error *add_job(void *context, const JobsApiJob *job) {
    Listing *listing = context;
    json_object *line;
    if (!http_page_take(&listing->page, listing->response)) return NULL;
    listing->last = job->place;
    TRY(jobs_api_job_json(job, &line));
    json_fields_int(line, "place", job->place);
    return http_response_line(listing->response, line);
}

static Error *add_event(void *context, const JobsApiEvent *event) {
    Listing *listing = context;
    json_object *line;
    if (!http_page_take(&listing->page, listing->response)) return NULL;
    listing->last = event->sequence;
    TRY(jobs_api_event_json(event, &line));
    return http_response_line(listing->response, line);
}

Error *route_job_list(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    static const char *const fields[] = {"state", NULL};
    const JobsApi *jobs = &service->jobs;
    Listing listing = {.response = response};
    TRY(http_page_read(request, fields, &listing.page));
    http_response_lines(response);
    TRY(jobs->class_->list(jobs->self, &request->caller, http_request_query(request, "state"),
        listing.page.after, listing.page.limit + 1, add_job, &listing));
    http_page_end(&listing.page, listing.last, response);
    return NULL;
}

/* The newest of them. */
static Error *collect_event(void *context, const JobsApiEvent *event) {
    json_object *item;
    if (json_object_array_length(context) == EVENTS_SHOWN_MAX)
        (void)json_object_array_del_idx(context, 0, 1);
    TRY(jobs_api_event_json(event, &item));
    json_object_array_add(context, item);
    return NULL;
}

Error *route_job_get(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    const JobsApi *jobs = &service->jobs;
    const char *id = http_request_name(request, 0);
    JobsApiJob job = {0};
    json_object *object;
    OWN_JSON(events) = json_object_new_array();
    TRY(http_request_check_query(request, no_fields));
    TRY(jobs->class_->get(jobs->self, &request->caller, id, &job));
    const int64_t after =
        job.last_event > EVENTS_LOOKED_AT_MAX ? job.last_event - EVENTS_LOOKED_AT_MAX : 0;
    TRY(jobs->class_->events(
        jobs->self, &request->caller, id, after, EVENTS_LOOKED_AT_MAX, collect_event, events));
    TRY(jobs_api_job_json(&job, &object));
    json_object_object_add(object, "events", TAKE(events));
    return http_response_json(response, object);
}

Error *route_job_events(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    const JobsApi *jobs = &service->jobs;
    Listing listing = {.response = response};
    int64_t since;
    TRY(http_page_read(request, since_fields, &listing.page));
    TRY(http_request_query_number(request, "since", 0, &since));
    if (since > listing.page.after) listing.page.after = since;
    http_response_lines(response);
    TRY(jobs->class_->events(jobs->self, &request->caller, http_request_name(request, 0),
        listing.page.after, listing.page.limit + 1, add_event, &listing));
    http_page_end(&listing.page, listing.last, response);
    return NULL;
}

Error *route_job_watch(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    const JobsApi *jobs = &service->jobs;
    int64_t since;
    HttpStream stream;
    TRY(http_request_check_query(request, since_fields));
    TRY(http_request_query_number(request, "since", 0, &since));
    TRY(jobs->class_->watch(
        jobs->self, &request->caller, http_request_name(request, 0), since, &stream));
    http_response_stream(response, stream);
    return NULL;
}

/* Answers the file that was written to path, and removes its name. */
static Error *answer_file(HttpResponse *response, char *owned_path, Error *owned_error) {
    int descriptor = owned_error ? -1 : open(owned_path, O_RDONLY | O_CLOEXEC);
    (void)unlink(owned_path);
    memory_free(owned_path);
    if (owned_error) return owned_error;
    if (descriptor < 0) FAIL(IO, "a temporary file cannot be read");
    http_response_file(response, descriptor);
    return NULL;
}

static void add_number(HttpResponse *response, const char *name, int64_t value) {
    char text[24];
    (void)snprintf(text, sizeof text, "%" PRId64, value);
    http_response_header(response, name, text);
}

static Error *answer_outputs(HttpService *service, const HttpRequest *request, const Caller *caller,
    HttpResponse *response) {
    const JobsApi *jobs = &service->jobs;
    const char *job = http_request_name(request, 0);
    JobsApiOutputs outputs = {0};
    HttpStream stream = {0};
    int64_t since;
    TRY(http_request_query_number(request, "since", 0, &since));
    TRY(jobs->class_->outputs(jobs->self, caller, job, since, &stream, &outputs));
    http_response_bytes(response, stream);
    add_number(response, "Layover-Next", outputs.next);
    add_number(response, "Layover-Outputs", outputs.count);
    return NULL;
}

Error *route_job_outputs(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    TRY(http_request_check_query(request, since_fields));
    return answer_outputs(service, request, &request->caller, response);
}

/* A node, or an admin, may ask for every tenant's job: a node acts for the caller that asked it. */
static Error *read_caller(const HttpRequest *request, Caller *out) {
    int64_t hops;
    TRY(http_request_query_number(request, "hops", 1, &hops));
    *out = (Caller){.role = CALLER_ADMIN,
        .node = request->caller.node,
        .hops = hops < UINT32_MAX ? (uint32_t)hops : UINT32_MAX};
    return NULL;
}

Error *route_peer_job(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    static const char *const fields[] = {"hops", NULL};
    const JobsApi *jobs = &service->jobs;
    const char *name = http_request_name(request, 0);
    JobsApiJob job = {0};
    Caller caller;
    JobId id;
    TenantId tenant;
    Job row;
    json_object *object;
    TRY(http_request_check_query(request, fields));
    TRY(read_caller(request, &caller));
    if (!job_id_parse(name, &id)) FAIL(NOT_FOUND, "there is no job %s", name);
    TRY(jobs_find_tenant(service->store, id, &tenant));
    TRY(jobs_get(service->store, tenant, id, &row));
    TRY(jobs->class_->get(jobs->self, &caller, name, &job));
    TRY(json_fields_create(&object));
    json_fields_text(object, "job", name);
    json_fields_text(object, "tenant", job.tenant);
    json_fields_text(object, "state", *job.moved_state ? job.moved_state : job.state);
    json_fields_text(object, "why", job.why);
    json_fields_int(object, "epoch", row.epoch);
    json_fields_int(object, "items_done", job.items_done);
    json_fields_int(object, "outputs", job.outputs);
    return http_response_json(response, object);
}

Error *route_peer_outputs(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    static const char *const fields[] = {"hops", "since", NULL};
    Caller caller;
    TRY(http_request_check_query(request, fields));
    TRY(read_caller(request, &caller));
    return answer_outputs(service, request, &caller, response);
}

static Error *add_checkpoint(void *context, const JobsApiCheckpoint *checkpoint) {
    Listing *listing = context;
    json_object *line;
    if (!http_page_take(&listing->page, listing->response)) return NULL;
    listing->last = checkpoint->id;
    TRY(json_fields_create(&line));
    json_fields_int(line, "id", checkpoint->id);
    json_fields_real(line, "time", checkpoint->time);
    json_fields_int(line, "bytes", (int64_t)checkpoint->bytes);
    json_fields_int_or_null(line, "items_done", checkpoint->items_done);
    json_fields_int(line, "sequence", checkpoint->sequence);
    return http_response_line(listing->response, line);
}

Error *route_job_checkpoints(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    const JobsApi *jobs = &service->jobs;
    Listing listing = {.response = response};
    TRY(http_page_read(request, NULL, &listing.page));
    http_response_lines(response);
    TRY(jobs->class_->checkpoints(jobs->self, &request->caller, http_request_name(request, 0),
        listing.page.after, listing.page.limit + 1, add_checkpoint, &listing));
    http_page_end(&listing.page, listing.last, response);
    return NULL;
}

/* The file is made while it is read; only few files need a temporary one, for which a full disk may
 * have no room. */
static Error *write_checkpoint(HttpService *service, const HttpRequest *request,
    const JobsApiCheckpointOptions *options, HttpResponse *response) {
    const JobsApi *jobs = &service->jobs;
    HttpStream stream = {0};
    int made = -1;
    char *path = NULL;
    error_free(upload_file_make(service->upload_folder, &made, &path)); /* then there is none */
    if (made >= 0) (void)close(made);
    Error *error = jobs->class_->checkpoint(
        jobs->self, &request->caller, http_request_name(request, 0), options, path, &stream);
    if (!error && !stream.pull) return answer_file(response, path, NULL);
    if (path) (void)unlink(path);
    memory_free(path);
    TRY(error);
    http_response_bytes(response, stream);
    return NULL;
}

static Error *write_asked(
    const JobQuestion *question, Error *owned_error, bool suspended, HttpResponse *response) {
    JobsApiCheckpointOptions options = question->options;
    TRY(owned_error);
    options.asked = true;
    options.suspended = suspended;
    return write_checkpoint(question->service, question->request, &options, response);
}

/* GET takes a copy; POST may take the job along. */
Error *route_job_checkpoint(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    static const char *const query_fields[] = {"from", "with_model", NULL};
    static const char *const body_fields[] = {"release", NULL};
    JobsApiCheckpointOptions options = {0};
    OWN_JSON(body) = NULL;
    TRY(http_request_check_query(request, query_fields));
    TRY(http_request_query_number(request, "from", 0, &options.checkpoint));
    TRY(http_request_query_flag(request, "with_model", &options.with_model));
    TRY(json_body_parse(request->body, request->body_size, &body));
    TRY(json_body_check_fields(body, body_fields));
    TRY(json_body_flag(body, "release", &options.release));
    if (options.checkpoint) return write_checkpoint(service, request, &options, response);
    const JobQuestion question = {.service = service,
        .request = request,
        .what = options.release ? JOBS_API_ASK_RELEASE : JOBS_API_ASK_CHECKPOINT,
        .options = options,
        .answer = write_asked};
    return job_question_ask(&question, response);
}
