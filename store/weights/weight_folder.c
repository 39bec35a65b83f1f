#include "store/weights/weight_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/digest_set.h"
#include "store/home/home.h"
#include "store/database/store_connections_internal.h"
#include "store/models/stored_executable.h"
#include "store/weights/weight_file.h"

Error *weight_folder_open(const char *path, int *out_folder) {
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (folder < 0 && errno == ENOENT) FAIL(NOT_FOUND, "no folder %s", path);
    if (folder < 0) FAIL(IO, "open %s: %s", path, strerror(errno));
    *out_folder = folder;
    return NULL;
}

Error *weight_folder_list(
    int folder, Error *(*visit)(void *context, const char *name), void *context) {
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = copy >= 0 ? fdopendir(copy) : NULL;
    Error *error = NULL;
    if (!stream) {
        if (copy >= 0) (void)close(copy);
        FAIL(IO, "a folder cannot be read: %s", strerror(errno));
    }
    for (struct dirent *file; !error && (file = readdir(stream));)
        if (strcmp(file->d_name, ".") != 0 && strcmp(file->d_name, "..") != 0)
            error = visit(context, file->d_name);
    (void)closedir(stream);
    return error;
}

typedef struct Walk {
    Store *store;
    int folder;
    /* wanted: executables that have files; stored: those of them that the catalog has */
    DigestSet wanted, stored;
    uint64_t files, removed;
} Walk;

/* Calls visit for each file of the cache, if the cache exists. */
static Error *walk(Walk *self, Error *(*visit)(void *context, const char *name)) {
    char *path;
    TRY(home_path(self->store->path, WEIGHT_FOLDER, &path));
    Error *error = weight_folder_open(path, &self->folder);
    memory_free(path);
    if (error_code(error) == ERROR_NOT_FOUND) {
        error_free(error);
        return NULL;
    }
    TRY(error);
    error = weight_folder_list(self->folder, visit, self);
    (void)close(self->folder);
    return error;
}

/* ---- gc ---- */

static Error *note_wanted(void *context, const char *name) {
    Walk *self = context;
    WeightKey key;
    if (!weight_file_parse_name(name, &key)) return NULL;
    return digest_set_add(&self->wanted, &key.executable, 1);
}

static Error *note_stored(Walk *self) {
    TenantId tenant = INT64_MIN;
    Digest identity = {0};
    for (bool found;;) {
        TRY(stored_executable_next(self->store, &tenant, &identity, &found));
        if (!found) return NULL;
        if (digest_set_find(&self->wanted, &identity))
            TRY(digest_set_add(&self->stored, &identity, 1));
    }
}

static Error *remove_unwanted(void *context, const char *name) {
    Walk *self = context;
    WeightKey key;
    if (!weight_file_parse_name(name, &key)) return NULL; /* being written */
    /* a file that appeared during the sweep was not compared with the catalog */
    if (!digest_set_find(&self->wanted, &key.executable)) return NULL;
    if (digest_set_find(&self->stored, &key.executable)) return NULL;
    if (unlinkat(self->folder, name, 0) == 0) self->removed++;
    return NULL;
}

static Error *sweep(Walk *self) {
    TRY(walk(self, note_wanted));
    if (self->wanted.count == 0) return NULL;
    TRY(note_stored(self));
    return walk(self, remove_unwanted);
}

Error *weight_folder_sweep(Store *store) {
    Walk self = {.store = store};
    Error *error = sweep(&self);
    digest_set_deinit(&self.wanted);
    digest_set_deinit(&self.stored);
    return error;
}

/* ---- fsck ---- */

static Error *check_file(int descriptor, WeightKey *key) {
    WeightFile file;
    TRY(weight_file_read_size(descriptor, &key->size));
    TRY(weight_file_open(descriptor, key, &file));
    Error *error = NULL;
    for (size_t i = 0; !error && i < weight_file_piece_count(&file); i++)
        error = weight_file_check_piece(&file, i);
    weight_file_close(&file);
    return error;
}

static Error *check_one(void *context, const char *name) {
    Walk *self = context;
    WeightKey key;
    if (!weight_file_parse_name(name, &key)) return NULL;
    int descriptor = openat(self->folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0) return NULL;
    Error *error = check_file(descriptor, &key);
    (void)close(descriptor);
    self->files++;
    if (error && unlinkat(self->folder, name, 0) == 0) self->removed++;
    error_free(error); /* damaged files of a cache are deleted without an error */
    return NULL;
}

Error *weight_folder_check(Store *store, uint64_t *out_files, uint64_t *out_removed) {
    Walk self = {.store = store};
    TRY(walk(&self, check_one));
    *out_files = self.files;
    *out_removed = self.removed;
    return NULL;
}
