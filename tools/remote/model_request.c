#include "tools/remote/model_request.h"

#include <stdio.h>

#include "store/models/model_reference.h"

/* Writes the address of a version. A model's name alone uses the route `newest`, any other
 * reference the other route. */
static Error *write_path(
    const char *reference, RouteId newest, RouteId versioned, TextBuilder *path) {
    ModelReference parsed;
    char number[24];
    TRY(model_reference_parse(reference, &parsed));
    const bool numbered = parsed.kind == MODEL_REFERENCE_VERSION;
    const bool aliased = parsed.kind == MODEL_REFERENCE_ALIAS;
    (void)snprintf(number, sizeof number, "%lld", (long long)parsed.version);
    const char *const names[] = {parsed.model, numbered  ? number
                                               : aliased ? parsed.alias
                                                         : "newest"};
    remote_path(path, numbered || aliased ? versioned : newest, names);
    return NULL;
}

Error *model_request_get(HttpClient *client, const char *reference, json_object **out) {
    TextBuilder OWN_TEXT(path) = {0};
    TRY(write_path(reference, ROUTE_MODEL_NEWEST, ROUTE_MODEL_GET, &path));
    return remote_ask(client, HTTP_METHOD_GET, &path, NULL, out);
}

Error *model_request_remove(HttpClient *client, const char *reference, json_object **out) {
    TextBuilder OWN_TEXT(path) = {0};
    TRY(write_path(reference, ROUTE_MODEL_REMOVE_ALL, ROUTE_MODEL_REMOVE, &path));
    return remote_ask(client, HTTP_METHOD_DELETE, &path, NULL, out);
}

Error *model_request_fetch(
    HttpClient *client, const char *reference, const char *path, uint64_t *out_bytes) {
    TextBuilder OWN_TEXT(address) = {0};
    HttpClientReply OWN_REPLY(reply) = {0};
    TRY(write_path(reference, ROUTE_MODEL_EXPORT, ROUTE_MODEL_EXPORT, &address));
    TRY(text_builder_check(&address));
    HttpClientCall call = {.path = text_builder_get(&address), .output = path};
    TRY(http_client_call(client, &call, &reply));
    *out_bytes = reply.bytes;
    return NULL;
}

Error *model_request_register(HttpClient *client, const char *name, const char *file,
    const ModelRegistration *registration, json_object **out) {
    TextBuilder OWN_TEXT(path) = {0};
    remote_path(&path, ROUTE_MODEL_REGISTER, &name);
    if (registration->format) http_client_query(&path, "format", registration->format);
    if (registration->precision) http_client_query(&path, "precision", registration->precision);
    if (registration->no_prepare) http_client_query(&path, "prepare", "no");
    for (uint32_t i = 0; i < registration->alias_count; i++)
        http_client_query(&path, "alias", registration->aliases[i]);
    return remote_send_file(client, &path, file, out);
}
