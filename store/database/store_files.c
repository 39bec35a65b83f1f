#include "store/database/store_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "store/database/store_connections_internal.h"

static Error *measure(const Store *store, StoreFile *inout_file) {
    TextBuilder OWN_TEXT(path) = {0};
    struct stat status;
    text_appendf(&path, "%s/%s", store->path, inout_file->name);
    TRY(text_builder_check(&path));
    if (stat(text_builder_get(&path), &status) == 0)
        inout_file->bytes = (uint64_t)status.st_size;
    else if (errno != ENOENT)
        FAIL(IO, "look at %s: %s", text_builder_get(&path), strerror(errno));
    return NULL;
}

Error *store_files_measure(const Store *store, StoreFile out_files[STORE_FILE_COUNT]) {
    static const char *const endings[] = {"", "-wal"};
    StoreFile files[STORE_FILE_COUNT] = {0};
    for (int i = 0; i < STORE_FILE_COUNT; i++) {
        (void)snprintf(files[i].name, sizeof files[i].name, "%s%s", database_infos[i / 2].file,
            endings[i % 2]);
        TRY(measure(store, &files[i]));
    }
    memcpy(out_files, files, sizeof files);
    return NULL;
}
