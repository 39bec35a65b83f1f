/* Models by a file's path or by a reference to the home's store. */
#include <string.h>
#include <unistd.h>

#include "base/allocator.h"
#include "scheduler/node/model_loader.h"
#include "store/models/models.h"
#include "tools/library/library_internal.h"
#include "tools/models/model_file.h"

static Error *read_reference(
    const char *home, const char *reference, WorkerPool *pool, Executable **out) {
    ModelVersion OWN_VERSION(version) = {0};
    OWN(Store, store) = NULL;
    TRY(store_open(home, STORE_EXISTING, &store));
    TRY(models_find(store, TENANT_DEFAULT, reference, &version));
    return model_loader_load(store, TENANT_DEFAULT, pool, &version.executable, out);
}

Error *library_read_model(const char *name, WorkerPool *pool, Executable **out) {
    const ModelFileOptions options = {.follow_links = false};
    char *home;
    if (access(name, F_OK) == 0 || strchr(name, '/'))
        return model_file_load(pool, name, &options, out);
    TRY(store_default_home(&home));
    Error *error = read_reference(home, name, pool, out);
    if (error) error = error_wrap(error, "no file %s, and in %s", name, home);
    memory_free(home);
    return error;
}
