#include <stdio.h>

#include "base/allocator.h"
#include "scheduler/http/server/http_service.h"
#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/json_fields.h"
#include "scheduler/migration/chunk_batch.h"
#include "scheduler/migration/migrations.h"
#include "scheduler/migration/migration_step.h"
#include "scheduler/migration/target_link.h"

/* Far more bytes than a job has, and far below the largest number. */
#define KEY_MAX (INT64_C(1) << 53)

static const char *const key_fields[] = {"epoch", "attempt", NULL};

/* Reads the number of the asking node: only a node that said hello can be answered. */
static Error *read_node(
    HttpService *service, const HttpRequest *request, ArrivalService **out_service) {
    if (!service->migrations) FAIL(UNSUPPORTED, "this server takes no jobs from other nodes");
    if (!request->caller.node)
        FAIL(REFUSED, "this is for nodes: a token of that role, and a hello before");
    *out_service = migrations_arrivals(service->migrations);
    return NULL;
}

static Error *read_key(const HttpRequest *request, const char *const *fields, MigrationKey *out) {
    const char *job = http_request_name(request, 0);
    TRY(http_request_check_query(request, fields));
    if (!job_id_parse(job, &out->job)) FAIL(NOT_FOUND, "there is no job %s", job);
    TRY(http_request_query_number(request, "epoch", -1, &out->epoch));
    TRY(http_request_query_number(request, "attempt", 0, &out->attempt));
    if (out->epoch < 0 || out->attempt < 1) FAIL(INVALID, "?epoch= and ?attempt= are wanted");
    if (out->epoch > KEY_MAX || out->attempt > KEY_MAX)
        FAIL(INVALID, "no job has come that far: epoch %lld, attempt %lld", (long long)out->epoch,
            (long long)out->attempt);
    return NULL;
}

static Error *open_request(HttpService *service, const HttpRequest *request,
    const char *const *fields, ArrivalService **out_service, MigrationKey *out_key) {
    TRY(read_node(service, request, out_service));
    return read_key(request, fields, out_key);
}

static Error *answer_state(HttpResponse *response, ArrivalAnswer state) {
    json_object *object;
    TRY(json_fields_create(&object));
    json_fields_text(object, "state", arrival_answer_name(state));
    return http_response_json(response, object);
}

Error *route_arrival_offer(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    static const char *const fields[] = {"protocol", "tenant", "executable", "bytes", NULL};
    const char *tenant = NULL, *executable = "";
    int64_t bytes = 0;
    ArrivalService *arrivals;
    MigrationOffer offer = {0};
    MigrationOfferAnswer answer;
    OWN_JSON(body) = NULL;
    json_object *object;
    TRY(open_request(service, request, key_fields, &arrivals, &offer.key));
    TRY(json_body_parse(request->body, request->body_size, &body));
    TRY(json_body_check_fields(body, fields));
    TRY(json_body_number(body, "protocol", 1, INT32_MAX, &offer.protocol));
    TRY(json_body_text(body, "tenant", &tenant));
    TRY(json_body_text(body, "executable", &executable));
    TRY(json_body_number(body, "bytes", 0, INT64_MAX, &bytes));
    if (!tenant || !text_is_name(tenant)) FAIL(INVALID, "tenant: a name is wanted");
    if (!digest_parse(executable, &offer.executable))
        FAIL(INVALID, "executable: 64 hexadecimal digits are wanted");
    (void)snprintf(offer.tenant, sizeof offer.tenant, "%s", tenant);
    offer.bytes = (uint64_t)bytes;
    TRY(arrival_service_offer(arrivals, request->caller.node, &offer, &answer));
    migration_step_done(MIGRATION_STEP_OFFERED);
    TRY(json_fields_create(&object));
    json_fields_add(object, "executable", json_object_new_boolean(answer.has_executable));
    return http_response_json(response, object);
}

Error *route_arrival_get(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    ArrivalService *arrivals;
    MigrationKey key;
    ArrivalAnswer answer;
    TRY(open_request(service, request, key_fields, &arrivals, &key));
    TRY(arrival_service_find(arrivals, request->caller.node, &key, &answer));
    return answer_state(response, answer);
}

Error *route_arrival_abort(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    ArrivalService *arrivals;
    MigrationKey key;
    TRY(open_request(service, request, key_fields, &arrivals, &key));
    TRY(arrival_service_abort(arrivals, request->caller.node, &key));
    return answer_state(response, ARRIVAL_UNKNOWN);
}

static Error *answer_missing(HttpResponse *response, const uint8_t *bits, size_t count) {
    json_object *object;
    char *text;
    TRY(chunk_bits_print(bits, count, &text));
    Error *error = json_fields_create(&object);
    if (!error) json_fields_text(object, "missing", text);
    memory_free(text);
    return error ? error : http_response_json(response, object);
}

Error *route_arrival_missing(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    ArrivalService *arrivals;
    MigrationKey key;
    ChunkRef *refs;
    size_t count;
    void *bits;
    TRY(open_request(service, request, key_fields, &arrivals, &key));
    TRY(chunk_names_read(request->body, request->body_size, &refs, &count));
    Error *error = memory_alloc(count / 8 + 1, 1, &bits);
    if (!error) {
        error =
            arrival_service_find_missing(arrivals, request->caller.node, &key, refs, count, bits);
        if (!error) error = answer_missing(response, bits, count);
        memory_free(bits);
    }
    memory_free(refs);
    return error;
}

Error *route_arrival_chunks(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    ArrivalService *arrivals;
    MigrationKey key;
    TRY(open_request(service, request, key_fields, &arrivals, &key));
    TRY(arrival_service_take_chunks(
        arrivals, request->caller.node, &key, request->body, request->body_size));
    return answer_state(response, ARRIVAL_OFFERED);
}

Error *route_arrival_rehearsal(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    ArrivalService *arrivals;
    MigrationKey key;
    TRY(open_request(service, request, key_fields, &arrivals, &key));
    TRY(arrival_service_rehearse(
        arrivals, request->caller.node, &key, request->body, request->body_size));
    return answer_state(response, ARRIVAL_OFFERED);
}

Error *route_arrival_prepare(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    static const char *const fields[] = {"epoch", "attempt", "suspended", NULL};
    ArrivalService *arrivals;
    MigrationKey key;
    bool suspended = false;
    TRY(open_request(service, request, fields, &arrivals, &key));
    TRY(http_request_query_flag(request, "suspended", &suspended));
    TRY(arrival_service_prepare(
        arrivals, request->caller.node, &key, suspended, request->body, request->body_size));
    migration_step_done(MIGRATION_STEP_PREPARED);
    return answer_state(response, ARRIVAL_PREPARED);
}

Error *route_arrival_activate(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    ArrivalService *arrivals;
    MigrationKey key;
    TRY(open_request(service, request, key_fields, &arrivals, &key));
    TRY(arrival_service_activate(arrivals, request->caller.node, &key));
    migration_step_done(MIGRATION_STEP_OWNED);
    return answer_state(response, ARRIVAL_OWNED);
}

Error *route_departure_get(
    HttpService *service, const HttpRequest *request, HttpResponse *response) {
    ArrivalService *arrivals;
    MigrationKey key;
    DepartureOutcome outcome;
    json_object *object;
    TRY(open_request(service, request, key_fields, &arrivals, &key));
    TRY(departures_find_outcome(
        service->store, key.job, request->caller.node, key.epoch, key.attempt, &outcome));
    TRY(json_fields_create(&object));
    json_fields_text(object, "outcome", departure_outcome_name(outcome));
    return http_response_json(response, object);
}

Error *route_job_fence(HttpService *service, const HttpRequest *request, HttpResponse *response) {
    static const char *const fields[] = {"epoch", NULL};
    ArrivalService *arrivals;
    JobId job;
    int64_t epoch;
    TRY(read_node(service, request, &arrivals));
    TRY(http_request_check_query(request, fields));
    if (!job_id_parse(http_request_name(request, 0), &job))
        FAIL(NOT_FOUND, "there is no job %s", http_request_name(request, 0));
    TRY(http_request_query_number(request, "epoch", 0, &epoch));
    if (epoch > KEY_MAX) FAIL(INVALID, "no job has come to epoch %lld", (long long)epoch);
    TRY(migrations_fence(service->migrations, request->caller.node, job, epoch));
    return answer_state(response, ARRIVAL_OWNED);
}
