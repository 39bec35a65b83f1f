#include <stdio.h>

#include "store/stored_executable.h"
#include "tools/model_access.h"

const CommandOption command_export_options[] = {{0}};

static Error *write_file(
    const Container *container, WorkerPool *pool, const char *path, uint64_t *out_bytes) {
    OWN(FileOutput, output) = NULL;
    OWN(ContainerFile, file) = NULL;
    TRY(file_output_create(path, &output));
    TRY(container_file_create(output, NULL, &file));
    TRY(container_copy_chunks(container, pool, CHUNK_VERIFY_SHA256, container_file_get_sink(file)));
    ByteReader manifest = container_get_manifest(container);
    TRY(container_file_finish(file, manifest.data, manifest.size));
    TRY(file_output_commit(output));
    *out_bytes = file_output_size(output);
    return NULL;
}

Error *command_export(CommandContext *context) {
    const char *path = context->arguments[1];
    ModelAccess OWN_ACCESS(access) = {0};
    ModelVersion OWN_VERSION(version) = {0};
    OWN(StoredExecutable, stored) = NULL;
    OWN(Container, container) = NULL;
    uint64_t bytes = 0;
    TRY(model_access_open(context, true, &access));
    TRY(models_find(access.store, access.tenant, context->arguments[0], &version));
    TRY(model_access_container(&access, &version.executable, &stored, &container));
    Error *error = write_file(container, access.pool, path, &bytes);
    container_release(TAKE(container));    /* before the executable it reads from, */
    stored_executable_close(TAKE(stored)); /* and that before the store */
    TRY(error);
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
