#include "scheduler/migration/target_link.h"

#include <inttypes.h>
#include <string.h>

#include "base/allocator.h"
#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/json_fields.h"
#include "scheduler/migration/chunk_batch.h"
#include "scheduler/migration/node_link.h"

/* Limits for a question that is answered at once, and for one that takes as long as a job's bytes
 * take. */
enum { QUICK_MS = 20000, SLOW_MS = 600000 };

/* /v1/peer/arrivals/JOB/verb?epoch=E&attempt=A */
static Error *make_path(
    TextBuilder *path, const char *side, const MigrationKey *key, const char *verb) {
    char name[JOB_ID_TEXT_SIZE];
    job_id_print(key->job, name);
    text_appendf(path, "/v1/peer/%s/%s%s?epoch=%" PRId64 "&attempt=%" PRId64, side, name, verb,
        key->epoch, key->attempt);
    return text_builder_check(path);
}

static Error *ask(HttpClient *client, HttpMethod method, const MigrationKey *key, const char *verb,
    json_object *owned_body, json_object **out) {
    TextBuilder OWN_TEXT(path) = {0};
    Error *error = make_path(&path, "arrivals", key, verb);
    if (!error)
        return node_link_ask_within(
            client, method, text_builder_get(&path), owned_body, QUICK_MS, out);
    json_object_put(owned_body);
    return error;
}

static Error *as_answer(Error *owned_error) {
    return error_recode(error_wrap(owned_error, "its answer"), ERROR_CORRUPT);
}

/* Bytes there, an object back. more: of the query. */
static Error *send(HttpClient *client, const MigrationKey *key, const char *verb, const char *more,
    const HttpClientCall *wanted, json_object **out) {
    TextBuilder OWN_TEXT(path) = {0};
    HttpClientReply OWN_REPLY(reply) = {0};
    HttpClientCall call = *wanted;
    TRY(make_path(&path, "arrivals", key, verb));
    text_append(&path, more);
    TRY(text_builder_check(&path));
    call.method = HTTP_METHOD_POST;
    call.path = text_builder_get(&path);
    TRY(http_client_call(client, &call, &reply));
    return as_answer(json_body_parse(text_builder_get(&reply.text), reply.text.size, out));
}

Error *target_link_offer(
    HttpClient *client, const MigrationOffer *offer, MigrationOfferAnswer *out_answer) {
    char identity[DIGEST_TEXT_SIZE];
    json_object *body;
    OWN_JSON(answer) = NULL;
    TRY(json_fields_create(&body));
    digest_print(&offer->executable, identity);
    json_fields_int(body, "protocol", offer->protocol);
    json_fields_text(body, "tenant", offer->tenant);
    json_fields_text(body, "executable", identity);
    json_fields_int(body, "bytes", (int64_t)offer->bytes);
    TRY(ask(client, HTTP_METHOD_POST, &offer->key, "", body, &answer));
    *out_answer = (MigrationOfferAnswer){0};
    return as_answer(json_body_flag(answer, "executable", &out_answer->has_executable));
}

Error *target_link_find_missing(HttpClient *client, const MigrationKey *key, const ChunkRef *refs,
    size_t count, uint8_t **out_bits) {
    ByteWriter OWN_BYTES(names) = {0};
    OWN_JSON(answer) = NULL;
    const char *missing = "";
    TRY(chunk_names_write(refs, count, &names));
    const HttpClientCall call = {.data = names.data, .data_size = names.size, .limit_ms = SLOW_MS};
    TRY(send(client, key, "/missing", "", &call, &answer));
    TRY(as_answer(json_body_text(answer, "missing", &missing)));
    return as_answer(chunk_bits_parse(missing, count, out_bits));
}

Error *target_link_send_chunks(
    HttpClient *client, const MigrationKey *key, const ByteWriter *batch, const ChunkSending *how) {
    OWN_JSON(answer) = NULL;
    const HttpClientCall call = {.data = batch->data,
        .data_size = batch->size,
        .bytes_per_s = how->bytes_per_s,
        .limit_ms = how->bytes_per_s ? 0 : SLOW_MS,
        .interrupted = how->interrupted,
        .interrupted_context = how->context};
    return send(client, key, "/chunks", "", &call, &answer);
}

Error *target_link_rehearse(
    HttpClient *client, const MigrationKey *key, const void *manifest, size_t size) {
    OWN_JSON(answer) = NULL;
    const HttpClientCall call = {.data = manifest, .data_size = size, .limit_ms = SLOW_MS};
    return send(client, key, "/rehearsal", "", &call, &answer);
}

Error *target_link_prepare(HttpClient *client, const MigrationKey *key, bool suspended,
    const void *manifest, size_t size, uint32_t limit_ms) {
    OWN_JSON(answer) = NULL;
    const HttpClientCall call = {.data = manifest, .data_size = size, .limit_ms = limit_ms};
    return send(client, key, "/prepare", suspended ? "&suspended=1" : "", &call, &answer);
}

Error *target_link_activate(HttpClient *client, const MigrationKey *key) {
    OWN_JSON(answer) = NULL;
    return ask(client, HTTP_METHOD_POST, key, "/activate", NULL, &answer);
}

Error *target_link_abort(HttpClient *client, const MigrationKey *key) {
    OWN_JSON(answer) = NULL;
    return ask(client, HTTP_METHOD_DELETE, key, "", NULL, &answer);
}

Error *target_link_find(HttpClient *client, const MigrationKey *key, ArrivalAnswer *out_answer) {
    OWN_JSON(answer) = NULL;
    const char *state = "";
    TRY(ask(client, HTTP_METHOD_GET, key, "", NULL, &answer));
    TRY(as_answer(json_body_text(answer, "state", &state)));
    if (!arrival_answer_find(state, out_answer)) FAIL(CORRUPT, "it answers a state that is none");
    return NULL;
}

const char *departure_outcome_name(DepartureOutcome outcome) {
    static const char *const names[] = {"pending", "moved", "aborted"};
    return names[outcome];
}

Error *source_link_find_outcome(
    HttpClient *client, const MigrationKey *key, DepartureOutcome *out_outcome) {
    TextBuilder OWN_TEXT(path) = {0};
    OWN_JSON(answer) = NULL;
    const char *text = "";
    TRY(make_path(&path, "departures", key, ""));
    TRY(node_link_ask_within(
        client, HTTP_METHOD_GET, text_builder_get(&path), NULL, QUICK_MS, &answer));
    TRY(as_answer(json_body_text(answer, "outcome", &text)));
    for (DepartureOutcome outcome = DEPARTURE_PENDING; outcome <= DEPARTURE_ABORTED; outcome++)
        if (strcmp(text, departure_outcome_name(outcome)) == 0) {
            *out_outcome = outcome;
            return NULL;
        }
    FAIL(CORRUPT, "it answers an outcome that is none");
}

Error *source_link_fence(HttpClient *client, JobId job, int64_t epoch) {
    TextBuilder OWN_TEXT(path) = {0};
    OWN_JSON(answer) = NULL;
    char name[JOB_ID_TEXT_SIZE];
    job_id_print(job, name);
    text_appendf(&path, "/v1/peer/jobs/%s/fence?epoch=%" PRId64, name, epoch);
    TRY(text_builder_check(&path));
    return node_link_ask_within(
        client, HTTP_METHOD_POST, text_builder_get(&path), NULL, QUICK_MS, &answer);
}
