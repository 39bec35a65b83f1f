#include <stdio.h>

#include "scheduler/http/server/http_service.h"
#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/json_fields.h"
#include "scheduler/migration/node_drain.h"

static const char *const no_fields[] = {NULL};

/* Finds the job and its tenant: the caller's own, or any tenant's for an admin. */
static Error *find_job(
    HttpService *service, const HttpRequest *request, TenantId *out_tenant, Job *out_job) {
    const char *text = http_request_name(request, 0);
    JobId id;
    if (!job_id_parse(text, &id)) FAIL(NOT_FOUND, "there is no job %s", text);
    *out_tenant = request->caller.tenant;
    if (request->caller.role == CALLER_ADMIN) TRY(jobs_find_tenant(service->store, id, out_tenant));
    TRY(jobs_get(service->store, *out_tenant, id, out_job));
    if (!service->migrations) FAIL(UNSUPPORTED, "this server moves no jobs");
    return NULL;
}

static Error *status_json(const MigrationStatus *status, json_object **out) {
    char name[JOB_ID_TEXT_SIZE];
    bool moved = status->phase == MIGRATION_MOVED;
    TRY(json_fields_create(out));
    job_id_print(status->job, name);
    json_fields_text(*out, "job", name);
    json_fields_text(*out, "node", status->node);
    json_fields_text(*out, "phase", migration_phase_name(status->phase));
    json_fields_add(*out, "over", json_object_new_boolean(migration_is_over(status->phase)));
    json_fields_add(*out, "moved", json_object_new_boolean(moved));
    json_fields_int(*out, "rounds", status->round);
    json_fields_int(*out, "bytes_sent", (int64_t)status->bytes_sent);
    json_fields_int(*out, "round_bytes", (int64_t)status->round_bytes);
    json_fields_int(*out, "round_sent", (int64_t)status->round_sent);
    json_fields_real(*out, "seconds", status->seconds);
    json_fields_real(*out, "downtime_ms", status->downtime_ms);
    json_fields_text_or_null(*out, "error", status->error);
    return NULL;
}

static Error *answer(HttpResponse *response, const MigrationStatus *status) {
    json_object *object;
    TRY(status_json(status, &object));
    return http_response_json(response, object);
}

Error *route_job_migrate(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    static const char *const fields[] = {"to", "bandwidth", NULL};
    const char *to = NULL;
    int64_t bytes_per_s = 0;
    TenantId tenant;
    Job job;
    MigrationStatus status;
    OWN_JSON(body) = NULL;
    TRY(http_request_check_query(request, no_fields));
    TRY(json_body_parse(request->body, request->body_size, &body));
    TRY(json_body_check_fields(body, fields));
    TRY(json_body_text(body, "to", &to));
    TRY(json_body_number(body, "bandwidth", 0, INT64_MAX, &bytes_per_s));
    if (!to) FAIL(INVALID, "to: the name of a node is wanted");
    TRY(find_job(service, request, &tenant, &job));
    TRY(migrations_begin(service->migrations, tenant, job.id, to, (uint64_t)bytes_per_s, &status));
    return answer(response, &status);
}

Error *route_job_migration(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    TenantId tenant;
    Job job;
    MigrationStatus status;
    TRY(http_request_check_query(request, no_fields));
    TRY(find_job(service, request, &tenant, &job));
    if (!migrations_find(service->migrations, job.id, &status))
        FAIL(NOT_FOUND, "job %s: no migration since the daemon's start",
            http_request_name(request, 0));
    return answer(response, &status);
}

Error *route_job_adopt(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    static const char *const fields[] = {"source_is_dead", NULL};
    bool dead = false;
    TenantId tenant;
    Job job;
    json_object *object;
    OWN_JSON(body) = NULL;
    TRY(http_request_check_query(request, no_fields));
    TRY(json_body_parse(request->body, request->body_size, &body));
    TRY(json_body_check_fields(body, fields));
    TRY(json_body_flag(body, "source_is_dead", &dead));
    if (!dead) FAIL(INVALID, "source_is_dead: true is wanted: it may run twice otherwise");
    TRY(find_job(service, request, &tenant, &job));
    TRY(migrations_adopt(service->migrations, tenant, job.id));
    TRY(jobs_get(service->store, tenant, job.id, &job));
    TRY(json_fields_create(&object));
    json_fields_text(object, "job", http_request_name(request, 0));
    json_fields_text(object, "state", job_state_info(job.state)->name);
    json_fields_int(object, "epoch", job.epoch);
    return http_response_json(response, object);
}

/* ---- many jobs ---- */

static Error *need_drain(const HttpService *service, NodeDrain **out) {
    if (!service->drain) FAIL(UNSUPPORTED, "this server moves no jobs");
    *out = service->drain;
    return NULL;
}

static Error *answer_drain(HttpResponse *response, NodeDrain *drain) {
    NodeDrainStatus status;
    json_object *object;
    node_drain_get_status(drain, &status);
    TRY(json_fields_create(&object));
    json_fields_add(object, "draining", json_object_new_boolean(status.draining));
    json_fields_add(object, "over", json_object_new_boolean(status.over));
    json_fields_int(object, "jobs", (int64_t)status.jobs);
    json_fields_int(object, "moved", (int64_t)status.moved);
    json_fields_int(object, "stayed", (int64_t)status.stayed);
    json_fields_text_or_null(object, "error", status.error);
    return http_response_json(response, object);
}

Error *route_drain_get(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    NodeDrain *drain;
    TRY(http_request_check_query(request, no_fields));
    TRY(need_drain(service, &drain));
    return answer_drain(response, drain);
}

Error *route_drain_begin(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    static const char *const fields[] = {"to", NULL};
    const char *to = NULL;
    NodeDrain *drain;
    OWN_JSON(body) = NULL;
    TRY(http_request_check_query(request, no_fields));
    TRY(json_body_parse(request->body, request->body_size, &body));
    TRY(json_body_check_fields(body, fields));
    TRY(json_body_text(body, "to", &to));
    TRY(need_drain(service, &drain));
    TRY(node_drain_begin(drain, to));
    return answer_drain(response, drain);
}

Error *route_drain_end(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    NodeDrain *drain;
    TRY(http_request_check_query(request, no_fields));
    TRY(need_drain(service, &drain));
    node_drain_end(drain);
    return answer_drain(response, drain);
}

static Error *add_mover(void *context, JobId job, const char *node) {
    char name[JOB_ID_TEXT_SIZE];
    json_object *line;
    TRY(json_fields_create(&line));
    job_id_print(job, name);
    json_fields_text(line, "job", name);
    json_fields_text(line, "node", node);
    return http_response_line(context, line);
}

Error *route_rebalance(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    NodeDrain *drain;
    OWN_JSON(body) = NULL;
    TRY(http_request_check_query(request, no_fields));
    TRY(json_body_parse(request->body, request->body_size, &body));
    TRY(json_body_check_fields(body, no_fields));
    TRY(need_drain(service, &drain));
    http_response_lines(response);
    return node_drain_rebalance(drain, add_mover, response);
}
