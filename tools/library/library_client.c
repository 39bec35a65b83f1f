/* Clients of layover_jobs.h: connections, and the models of a daemon. */
#include "tools/library/library_client.h"

#include <string.h>

#include "base/allocator.h"
#include "scheduler/http/client/json_body.h"
#include "tools/remote/model_request.h"

static LayoverClient *retain(LayoverClient *client) {
    refcount_retain(&client->refcount);
    return client;
}

/* Connections of a parent process are not this process's to end. */
void layover_client_close(LayoverClient *client) {
    if (!client || !refcount_release(&client->refcount)) return;
    const bool own = client->process == library_process_number();
    for (uint32_t i = 0; own && i < client->idle_count; i++) http_client_close(client->idle[i]);
    server_choice_deinit(&client->choice);
    memory_free(client);
}
DEFINE_OWN(LayoverClient, layover_client_close);

static Error *open_client(const LayoverServer *server, LayoverClient **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(LayoverClient), &memory));
    OWN(LayoverClient, client) = memory;
    refcount_init(&client->refcount);
    client->process = library_process_number();
    if (server->server && !*server->server) FAIL(INVALID, "the server's address is empty");
    if (server->home && !*server->home) FAIL(INVALID, "the path of the home is empty");
    const ServerWish wish = {.server = server->server,
        .home = server->home,
        .token = server->token,
        .tenant = server->tenant,
        .ca_file = server->ca_file};
    TRY(server_choice_find(&wish, &client->choice));
    if (!client->choice.server)
        FAIL(UNREACHABLE, "no daemon holds %s; start one with layover serve",
            server->home ? server->home : "the default home");
    LibraryCall call = {.client = client};
    TRY(library_call_begin(client, &call)); /* refuses an address that makes no sense */
    library_call_end(&call);
    *out = TAKE(client);
    return NULL;
}

LayoverError *layover_client_open(const LayoverServer *server, LayoverClient **out_client) {
    static const LayoverServer none;
    return library_error(open_client(server ? server : &none, out_client));
}

const char *layover_client_server(const LayoverClient *client) { return client->choice.server; }

/* ---- connections ---- */

/* Returns NULL where none is idle. */
static HttpClient *take_idle(LayoverClient *client) {
    HttpClient *http = NULL;
    const uint32_t process = library_process_number();
    library_process_lock_clients();
    if (client->process != process) {
        client->process = process;
        client->idle_count = 0;
    }
    if (client->idle_count > 0) http = client->idle[--client->idle_count];
    library_process_unlock_clients();
    return http;
}

Error *library_call_begin(LayoverClient *client, LibraryCall *out) {
    HttpClient *http = take_idle(client);
    if (!http) TRY(server_choice_open(&client->choice, &http));
    *out = (LibraryCall){retain(client), http};
    return NULL;
}

void library_call_end(LibraryCall *call) {
    if (!call->http) return;
    LayoverClient *client = call->client;
    library_process_lock_clients();
    const bool kept = client->idle_count < LIBRARY_IDLE_MAX;
    if (kept) client->idle[client->idle_count++] = call->http;
    library_process_unlock_clients();
    if (!kept) http_client_close(call->http);
    call->http = NULL;
    layover_client_close(client);
}

static Error *add_line(void *array, const char *text) {
    json_object *line;
    TRY(remote_parse(text, &line));
    if (json_object_array_add(array, line) == 0) return NULL;
    json_object_put(line);
    FAIL(OUT_OF_MEMORY, "no memory for the answer");
}

Error *library_call_list(LibraryCall *call, const TextBuilder *path, LayoverValue *out_json) {
    OWN_JSON(array) = json_object_new_array();
    if (!array) FAIL(OUT_OF_MEMORY, "no memory for the answer");
    TRY(remote_visit_lines(call->http, HTTP_METHOD_GET, path, NULL, add_line, array));
    return library_answer(TAKE(array), out_json);
}

/* ---- models ---- */

static Error *register_model(LayoverClient *client, const char *name, const char *file,
    const LayoverRegistration *wanted, LayoverValue *out_json) {
    OWN_CALL(call) = {0};
    json_object *answer;
    const ModelRegistration registration = {
        .format = wanted->format,
        .precision = wanted->precision,
        .no_prepare = wanted->no_prepare != 0,
        .aliases = wanted->aliases,
        .alias_count = wanted->alias_count,
    };
    if (wanted->params || wanted->library || wanted->follow_links)
        FAIL(INVALID, "a daemon compiles one file; params, library and follow_links are for "
                      "layover_home_register");
    TRY(library_call_begin(client, &call));
    TRY(model_request_register(call.http, name, file, &registration, &answer));
    return library_answer(answer, out_json);
}

LayoverError *layover_client_register(LayoverClient *client, const char *name, const char *file,
    const LayoverRegistration *registration, LayoverValue *out_json) {
    static const LayoverRegistration plain;
    return library_error(
        register_model(client, name, file, registration ? registration : &plain, out_json));
}

static Error *list_models(LayoverClient *client, LayoverValue *out_json) {
    OWN_CALL(call) = {0};
    TextBuilder OWN_TEXT(path) = {0};
    TRY(library_call_begin(client, &call));
    remote_path(&path, ROUTE_MODEL_LIST, NULL);
    return library_call_list(&call, &path, out_json);
}

LayoverError *layover_client_models(LayoverClient *client, LayoverValue *out_json) {
    return library_error(list_models(client, out_json));
}

static Error *show(LayoverClient *client, const char *reference, LayoverValue *out_json) {
    OWN_CALL(call) = {0};
    json_object *answer;
    TRY(library_call_begin(client, &call));
    TRY(model_request_get(call.http, reference, &answer));
    return library_answer(answer, out_json);
}

LayoverError *layover_client_show(
    LayoverClient *client, const char *reference, LayoverValue *out_json) {
    return library_error(show(client, reference, out_json));
}

static Error *remove_model(LayoverClient *client, const char *reference, LayoverValue *out_json) {
    OWN_CALL(call) = {0};
    json_object *answer;
    TRY(library_call_begin(client, &call));
    TRY(model_request_remove(call.http, reference, &answer));
    return library_answer(answer, out_json);
}

LayoverError *layover_client_remove(
    LayoverClient *client, const char *reference, LayoverValue *out_json) {
    return library_error(remove_model(client, reference, out_json));
}

static Error *export_model(
    LayoverClient *client, const char *reference, const char *path, uint64_t *out_bytes) {
    OWN_CALL(call) = {0};
    TRY(library_call_begin(client, &call));
    return model_request_fetch(call.http, reference, path, out_bytes);
}

LayoverError *layover_client_export(
    LayoverClient *client, const char *reference, const char *path, uint64_t *out_bytes) {
    return library_error(export_model(client, reference, path, out_bytes));
}
