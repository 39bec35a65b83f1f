#include "tools/client/remote_models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/http/client/json_body.h"
#include "store/models/model_reference.h"
#include "tools/client/model_print.h"

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

Error *remote_models_list(const CommandContext *context, HttpClient *client) {
    TextBuilder OWN_TEXT(path) = {0};
    remote_path(&path, ROUTE_MODEL_LIST, NULL);
    return remote_list(context, client, &path, model_print_header, model_print_row);
}

Error *remote_models_get(HttpClient *client, const char *reference, json_object **out) {
    TextBuilder OWN_TEXT(path) = {0};
    TRY(write_path(reference, ROUTE_MODEL_NEWEST, ROUTE_MODEL_GET, &path));
    return remote_ask(client, HTTP_METHOD_GET, &path, NULL, out);
}

Error *remote_models_show(const CommandContext *context, HttpClient *client) {
    json_object *object;
    TRY(remote_models_get(client, context->arguments[0], &object));
    return remote_show(context, object, model_print_all);
}

Error *remote_models_remove(HttpClient *client, const char *reference, json_object **out) {
    TextBuilder OWN_TEXT(path) = {0};
    TRY(write_path(reference, ROUTE_MODEL_REMOVE_ALL, ROUTE_MODEL_REMOVE, &path));
    return remote_ask(client, HTTP_METHOD_DELETE, &path, NULL, out);
}

Error *remote_models_register(const CommandContext *context, HttpClient *client, const char *format,
    const char *precision, json_object **out) {
    TextBuilder OWN_TEXT(path) = {0};
    const char *alias;
    remote_path(&path, ROUTE_MODEL_REGISTER, context->arguments);
    if (format) http_client_query(&path, "format", format);
    if (precision) http_client_query(&path, "precision", precision);
    if (command_flag(context, "no-prepare")) http_client_query(&path, "prepare", "no");
    for (uint32_t i = 0; (alias = command_option_at(context, "alias", i)); i++)
        http_client_query(&path, "alias", alias);
    return remote_send_file(client, &path, context->arguments[1], out);
}

Error *remote_models_fetch(
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

Error *remote_models_load(
    HttpClient *client, const char *reference, ModelAccess *access, Executable **out_executable) {
    char path[] = "/tmp/layover.XXXXXX";
    uint64_t bytes;
    ModelFileOptions options = {.format = "lvx"};
    int descriptor = mkstemp(path);
    if (descriptor < 0) FAIL(IO, "a temporary file cannot be made in /tmp");
    (void)close(descriptor);
    Error *error = remote_models_fetch(client, reference, path, &bytes);
    if (!error) error = model_file_load(access->pool, path, &options, out_executable);
    (void)unlink(path);
    return error;
}
