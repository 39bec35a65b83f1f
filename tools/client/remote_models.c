#include "tools/client/remote_models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/http/client/json_body.h"
#include "tools/client/model_print.h"
#include "tools/remote/model_request.h"

Error *remote_models_list(const CommandContext *context, HttpClient *client) {
    TextBuilder OWN_TEXT(path) = {0};
    remote_path(&path, ROUTE_MODEL_LIST, NULL);
    return remote_list(context, client, &path, model_print_header, model_print_row);
}

Error *remote_models_show(const CommandContext *context, HttpClient *client) {
    json_object *object;
    TRY(model_request_get(client, context->arguments[0], &object));
    return remote_show(context, object, model_print_all);
}

Error *remote_models_register(const CommandContext *context, HttpClient *client, const char *format,
    const char *precision, json_object **out) {
    const char *aliases[COMMAND_OPTIONS_MAX], *alias;
    ModelRegistration registration = {.format = format,
        .precision = precision,
        .no_prepare = command_flag(context, "no-prepare"),
        .aliases = aliases};
    while ((alias = command_option_at(context, "alias", registration.alias_count)))
        aliases[registration.alias_count++] = alias;
    return model_request_register(
        client, context->arguments[0], context->arguments[1], &registration, out);
}

Error *remote_models_load(
    HttpClient *client, const char *reference, ModelAccess *access, Executable **out_executable) {
    char path[] = "/tmp/layover.XXXXXX";
    uint64_t bytes;
    ModelFileOptions options = {.format = "lvx"};
    int descriptor = mkstemp(path);
    if (descriptor < 0) FAIL(IO, "a temporary file cannot be made in /tmp");
    (void)close(descriptor);
    Error *error = model_request_fetch(client, reference, path, &bytes);
    if (!error) error = model_file_load(access->pool, path, &options, out_executable);
    (void)unlink(path);
    return error;
}
