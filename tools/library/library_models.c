/* Models by a file's path or by a reference to a home. */
#include <string.h>
#include <unistd.h>

#include "tools/library/library_internal.h"
#include "tools/models/model_file.h"

static Error *read_from_default(const char *name, WorkerPool *pool, Executable **out) {
    OWN(LayoverHome, home) = NULL;
    TRY(library_home_open(NULL, NULL, &home));
    return error_wrap(library_home_read(home, name, pool, out), "no file %s, and in %s", name,
        layover_home_path(home));
}

Error *library_read_model(
    const LayoverHome *home, const char *name, WorkerPool *pool, Executable **out) {
    const ModelFileOptions options = {.follow_links = false};
    if (home) return library_home_read(home, name, pool, out);
    if (access(name, F_OK) == 0 || strchr(name, '/'))
        return model_file_load(pool, name, &options, out);
    return read_from_default(name, pool, out);
}
