#include "tools/client/model_access.h"

#include "base/allocator.h"
#include "scheduler/node/model_loader.h"

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

Error *model_access_load_identity(
    ModelAccess *access, const Digest *identity, Executable **out_executable) {
    return model_loader_load(access->store, access->tenant, access->pool, identity, out_executable);
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
    return model_loader_register(access->store, access->tenant, access->pool, name, executable,
        aliases, alias_count, out_version);
}

Error *model_access_import(ModelAccess *access, const char *name, const char *path,
    const char *const *aliases, size_t alias_count, ModelVersion *out_version,
    Executable **out_executable) {
    OWN(Container, container) = NULL;
    TRY(container_open_path(CONTAINER_EXECUTABLE, path, &container));
    return model_loader_import(access->store, access->tenant, access->pool, name, container, path,
        aliases, alias_count, out_version, out_executable);
}
