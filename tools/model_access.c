#include "tools/model_access.h"

#include "base/allocator.h"
#include "serialize/executable_file.h"
#include "store/stored_executable.h"

Error *model_access_open_files(ModelAccess *out_access) {
    uint32_t cores = worker_pool_core_count();
    ModelAccess access = {.tenant = TENANT_DEFAULT};
    /* the calling thread works, too */
    TRY(worker_pool_create("layover", cores > 1 ? cores - 1 : 1, &access.pool));
    *out_access = access;
    return NULL;
}

static Error *open_store(const CommandContext *context, bool create, ModelAccess *access) {
    char *default_home = NULL;
    if (!context->home) TRY(store_default_home(&default_home));
    const char *home = context->home ? context->home : default_home;
    Error *error = home[0]
                       ? store_open(home, create ? STORE_CREATE : STORE_EXISTING, &access->store)
                       : error_make(ERROR_USAGE, __FILE__, __LINE__, "--home is empty");
    memory_free(default_home);
    TRY(error);
    if (context->tenant) TRY(store_find_tenant(access->store, context->tenant, &access->tenant));
    return NULL;
}

Error *model_access_open(const CommandContext *context, bool create, ModelAccess *out_access) {
    ModelAccess OWN_ACCESS(access) = {0};
    TRY(model_access_open_files(&access));
    TRY(open_store(context, create, &access));
    *out_access = access;
    access = (ModelAccess){0};
    return NULL;
}

void model_access_close(ModelAccess *access) {
    store_close(access->store);
    worker_pool_release(access->pool);
    *access = (ModelAccess){0};
}

Error *model_access_container(ModelAccess *access, const Digest *identity,
    StoredExecutable **out_stored, Container **out_container) {
    OWN(StoredExecutable, stored) = NULL;
    OWN(Container, container) = NULL;
    size_t size;
    TRY(stored_executable_open(access->store, access->tenant, identity, &stored));
    const uint8_t *manifest = stored_executable_manifest(stored, &size);
    TRY(container_open_manifest(
        CONTAINER_EXECUTABLE, manifest, size, stored_executable_source(stored), &container));
    TRY(container_check_identity(container, identity));
    *out_stored = TAKE(stored);
    *out_container = TAKE(container);
    return NULL;
}

Error *model_access_load_identity(
    ModelAccess *access, const Digest *identity, Executable **out_executable) {
    OWN(StoredExecutable, stored) = NULL;
    OWN(Container, container) = NULL;
    TRY(model_access_container(access, identity, &stored, &container));
    Error *error = executable_read(container, access->pool, CHUNK_VERIFY_XXH3, out_executable);
    container_release(TAKE(container)); /* it reads from the stored executable */
    return error;
}

Error *model_access_load(ModelAccess *access, const char *reference, ModelVersion *out_version,
    Executable **out_executable) {
    ModelVersion OWN_VERSION(version) = {0};
    TRY(models_find(access->store, access->tenant, reference, &version));
    TRY_WRAP(
        model_access_load_identity(access, &version.executable, out_executable), "%s", reference);
    if (out_version) {
        *out_version = version;
        version = (ModelVersion){0};
    }
    return NULL;
}

Error *model_access_register(ModelAccess *access, const char *name, Executable *executable,
    const char *const *aliases, size_t alias_count, ModelVersion *out_version) {
    OWN(ChunkUpload, upload) = NULL;
    OWN(Container, container) = NULL;
    ByteWriter OWN_BYTES(manifest) = {0};
    TRY(chunk_upload_open(access->store, access->tenant, &upload));
    TRY(executable_write(executable, access->pool, chunk_upload_sink(upload), &manifest));
    TRY(container_open_manifest(
        CONTAINER_EXECUTABLE, manifest.data, manifest.size, (ChunkSource){0}, &container));
    return models_register_container(upload, name, container, aliases, alias_count, out_version);
}

Error *model_access_import(ModelAccess *access, const char *name, const char *path,
    const char *const *aliases, size_t alias_count, ModelVersion *out_version,
    Executable **out_executable) {
    OWN(ChunkUpload, upload) = NULL;
    OWN(Container, container) = NULL;
    OWN(Executable, executable) = NULL;
    TRY(container_open_path(CONTAINER_EXECUTABLE, path, &container));
    TRY_WRAP(
        executable_read(container, access->pool, CHUNK_VERIFY_SHA256, &executable), "%s", path);
    TRY(chunk_upload_open(access->store, access->tenant, &upload));
    TRY_WRAP(container_copy_chunks(
                 container, access->pool, CHUNK_VERIFY_SHA256, chunk_upload_sink(upload)),
        "%s", path);
    TRY(models_register_container(upload, name, container, aliases, alias_count, out_version));
    *out_executable = TAKE(executable);
    return NULL;
}
