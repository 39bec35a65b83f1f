#include <stdio.h>

#include "scheduler/http/routes/model_json.h"
#include "scheduler/node/model_loader.h"
#include "tools/relax/model_relax.h"
#include "tools/client/remote_models.h"
#include "tools/remote/model_request.h"
#include "scheduler/http/client/json_fields.h"

const CommandOption command_export_options[] = {{0}};

/* Whether the file that the model was made from is wanted. */
static bool wants_source(const char *path) { return text_ends_with(path, ".bin"); }

/* Writes the Relax executable that a version was translated from. client: NULL: from the store. */
static Error *export_source(
    const CommandContext *context, HttpClient *client, uint64_t *out_bytes) {
    const char *reference = context->arguments[0], *path = context->arguments[1];
    ModelAccess OWN_ACCESS(access) = {0};
    OWN(Executable, executable) = NULL;
    if (client) {
        TRY(model_access_open_files(&access));
        TRY(remote_models_load(client, reference, &access, &executable));
    } else {
        TRY(model_access_open(context, true, &access));
        TRY(model_access_load(&access, reference, NULL, &executable));
    }
    return error_wrap(model_relax_write(executable, path, out_bytes), "%s", reference);
}

static Error *export_here(
    const CommandContext *context, json_object **out_version, uint64_t *out_bytes) {
    ModelAccess OWN_ACCESS(access) = {0};
    ModelVersion OWN_VERSION(version) = {0};
    if (wants_source(context->arguments[1])) TRY(export_source(context, NULL, out_bytes));
    TRY(model_access_open(context, true, &access));
    TRY(models_find(access.store, access.tenant, context->arguments[0], &version));
    if (!wants_source(context->arguments[1]))
        TRY(model_loader_export(access.store, access.tenant, access.pool, &version.executable,
            context->arguments[1], out_bytes));
    return model_version_json(&version, out_version);
}

/* Fetches the version that was shown, even if a newer one exists by now. */
static Error *fetch_version(
    HttpClient *client, json_object *version, const char *path, uint64_t *out_bytes) {
    char reference[MODEL_REFERENCE_SIZE];
    (void)snprintf(reference, sizeof reference, "%s@%lld", remote_text(version, "model"),
        (long long)remote_int(version, "version"));
    return model_request_fetch(client, reference, path, out_bytes);
}

Error *command_export(CommandContext *context) {
    const char *reference = context->arguments[0], *path = context->arguments[1];
    OWN(HttpClient, client) = NULL;
    json_object *object;
    uint64_t bytes = 0;
    TRY(remote_find(context, &client));
    if (client) {
        TRY(model_request_get(client, reference, &object));
        json_object_object_del(object, "functions");
        Error *error = wants_source(path) ? export_source(context, client, &bytes)
                                          : fetch_version(client, object, path, &bytes);
        if (error) {
            json_object_put(object);
            return error;
        }
    } else
        TRY(export_here(context, &object, &bytes));
    if (!context->json) {
        printf("%s: %s@%lld, %.1f MB\n", path, remote_text(object, "model"),
            (long long)remote_int(object, "version"), (double)bytes / 1e6);
        json_object_put(object);
        return NULL;
    }
    json_fields_text(object, "file", path);
    json_fields_int(object, "bytes", (int64_t)bytes);
    return command_print_json(object);
}
