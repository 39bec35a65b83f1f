#include <stdio.h>

#include "scheduler/http/routes/model_json.h"
#include "tools/client/model_print.h"
#include "tools/client/remote_models.h"
#include "tools/remote/model_request.h"
#include "scheduler/http/client/json_fields.h"

const CommandOption command_models_options[] = {{0}};
const CommandOption command_show_options[] = {{0}};
const CommandOption command_rm_options[] = {{0}};
const CommandOption command_alias_options[] = {{0}};

Error *command_models(CommandContext *context) {
    ModelAccess OWN_ACCESS(access) = {0};
    OWN(HttpClient, client) = NULL;
    OWN(ModelList, list) = NULL;
    TRY(remote_find(context, &client));
    if (client) return remote_models_list(context, client);
    TRY(model_access_open(context, true, &access));
    TRY(models_list(access.store, access.tenant, &list));
    if (!context->json && list->count > 0) model_print_header();
    for (size_t i = 0; i < list->count; i++) {
        json_object *object;
        TRY(model_version_json(&list->items[i], &object));
        TRY(remote_show(context, object, model_print_row));
    }
    return NULL;
}

Error *command_show(CommandContext *context) {
    ModelAccess OWN_ACCESS(access) = {0};
    OWN(HttpClient, client) = NULL;
    ModelVersion OWN_VERSION(version) = {0};
    OWN(Executable, executable) = NULL;
    json_object *object;
    TRY(remote_find(context, &client));
    if (client) return remote_models_show(context, client);
    TRY(model_access_open(context, true, &access));
    TRY(model_access_load(&access, context->arguments[0], &version, &executable));
    TRY(model_json(&version, executable, &object));
    return remote_show(context, object, model_print_all);
}

static void print_removed(const char *reference, int64_t count) {
    printf("%s: %lld version%s removed; layover gc gives the space back\n", reference,
        (long long)count, count == 1 ? "" : "s");
}

Error *command_rm(CommandContext *context) {
    ModelAccess OWN_ACCESS(access) = {0};
    OWN(HttpClient, client) = NULL;
    uint64_t count = 0;
    json_object *object;
    TRY(remote_find(context, &client));
    if (client)
        TRY(model_request_remove(client, context->arguments[0], &object));
    else {
        TRY(model_access_open(context, true, &access));
        TRY(models_remove(access.store, access.tenant, context->arguments[0], &count));
        TRY(model_removed_json(count, &object));
    }
    if (context->json) return command_print_json(object);
    print_removed(context->arguments[0], remote_int(object, "removed"));
    json_object_put(object);
    return NULL;
}

static Error *alias_remotely(
    HttpClient *client, const CommandContext *context, int64_t number, json_object **out) {
    TextBuilder OWN_TEXT(path) = {0};
    json_object *body;
    remote_path(&path, ROUTE_MODEL_ALIAS, context->arguments);
    TRY(json_fields_create(&body));
    json_fields_text(body, "alias", context->arguments[1]);
    json_fields_int(body, "version", number);
    return remote_ask(client, HTTP_METHOD_POST, &path, body, out);
}

static Error *alias_here(const CommandContext *context, int64_t number, json_object **out) {
    ModelAccess OWN_ACCESS(access) = {0};
    ModelVersion OWN_VERSION(version) = {0};
    char reference[MODEL_REFERENCE_SIZE];
    const char *name = context->arguments[0];
    TRY(model_access_open(context, true, &access));
    TRY(models_set_alias(access.store, access.tenant, name, context->arguments[1], number));
    (void)snprintf(reference, sizeof reference, "%s@%lld", name, (long long)number);
    TRY(models_find(access.store, access.tenant, reference, &version));
    return model_version_json(&version, out);
}

Error *command_alias(CommandContext *context) {
    OWN(HttpClient, client) = NULL;
    json_object *object;
    int64_t number;
    const char *name = context->arguments[0], *alias = context->arguments[1];
    if (!text_parse_i64(context->arguments[2], &number) || number < 1)
        FAIL(USAGE, "alias: %s is no version number", context->arguments[2]);
    TRY(remote_find(context, &client));
    TRY(client ? alias_remotely(client, context, number, &object)
               : alias_here(context, number, &object));
    if (context->json) return command_print_json(object);
    printf("%s@%s is %s@%lld\n", name, alias, name, (long long)number);
    json_object_put(object);
    return NULL;
}
