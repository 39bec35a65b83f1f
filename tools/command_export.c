#include <stdio.h>

#include "scheduler/http/model_json.h"
#include "scheduler/model_loader.h"
#include "tools/model_access.h"

const CommandOption command_export_options[] = {{0}};

Error *command_export(CommandContext *context) {
    const char *path = context->arguments[1];
    ModelAccess OWN_ACCESS(access) = {0};
    ModelVersion OWN_VERSION(version) = {0};
    uint64_t bytes = 0;
    TRY(model_access_open(context, true, &access));
    TRY(models_find(access.store, access.tenant, context->arguments[0], &version));
    TRY(model_loader_export(
        access.store, access.tenant, access.pool, &version.executable, path, &bytes));
    if (!context->json) {
        printf("%s: %s@%lld, %.1f MB\n", path, version.model, (long long)version.version,
            (double)bytes / 1e6);
        return NULL;
    }
    json_object *object;
    TRY(model_version_json(&version, &object));
    command_json_text(object, "file", path);
    command_json_int(object, "bytes", (int64_t)bytes);
    return command_print_json(object);
}
