#include "kernels/plugin/plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/plugin/device_layout.h"

enum { PLUGINS_MAX = 8, PATH_LENGTH_MAX = PATH_MAX };

/* A plugin is loaded once in a process, by the first caller. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the variables below */
static const DeviceClass *loaded[PLUGINS_MAX];
static size_t loaded_count;

/* The folder of the program or library that contains this code; "" if it is not known. */
static void own_folder(char out[PATH_LENGTH_MAX]) {
    Dl_info info;
    bool known = dladdr((const void *)&mutex, &info) != 0 && info.dli_fname;
    if (!known || !realpath(info.dli_fname, out)) out[0] = 0;
    char *slash = strrchr(out, '/');
    if (slash) *slash = 0;
}

/* True when the folder has the plugin; otherwise adds the folder to `tried`. */
static bool try_folder(
    const char *folder, size_t length, const char *kind, char *path, TextBuilder *tried) {
    if (length == 0) return false;
    int size = snprintf(path, PATH_LENGTH_MAX, "%.*s/liblayover-%s.so", (int)length, folder, kind);
    if (size < PATH_LENGTH_MAX && access(path, R_OK) == 0) return true;
    text_appendf(tried, "%s%.*s", tried->size ? ", " : "", (int)length, folder);
    return false;
}

static Error *find_file(const char *kind, char path[PATH_LENGTH_MAX]) {
    char folder[PATH_LENGTH_MAX];
    TextBuilder OWN_TEXT(tried) = {0};
    const char *at = secure_getenv("LAYOVER_PLUGINS");
    while (at && *at) {
        size_t length = strcspn(at, ":");
        if (try_folder(at, length, kind, path, &tried)) return NULL;
        at += at[length] ? length + 1 : length;
    }
    own_folder(folder);
    if (try_folder(folder, strlen(folder), kind, path, &tried)) return NULL;
    if (try_folder(PLUGIN_FOLDER, strlen(PLUGIN_FOLDER), kind, path, &tried)) return NULL;
    FAIL(UNSUPPORTED, "there is no liblayover-%s.so in %s", kind, text_builder_get(&tried));
}

static Error *check_class(const DeviceClass *class_, const char *kind, const char *path) {
    uint32_t version = class_ ? class_->abi_version : 0;
    if (version != DEVICE_ABI_VERSION)
        FAIL(UNSUPPORTED,
            "%s is for version %u of the device interface, this program has version %d", path,
            version, DEVICE_ABI_VERSION);
    if (class_->layout != DEVICE_LAYOUT)
        FAIL(UNSUPPORTED,
            "%s was built with other structures (%08x) than this program (%08x): build both from "
            "the same source, with the same compiler",
            path, class_->layout, (unsigned)DEVICE_LAYOUT);
    if (strcmp(class_->kind, kind) != 0)
        FAIL(UNSUPPORTED, "%s is a plugin for another kind of device", path);
    return NULL;
}

static Error *open_file(const char *kind, const char *path, const DeviceClass **out) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) FAIL(UNSUPPORTED, "%s", dlerror());
    void *symbol = dlsym(library, PLUGIN_SYMBOL);
    if (!symbol) {
        (void)dlclose(library);
        FAIL(UNSUPPORTED, "%s is no plugin: it has no %s", path, PLUGIN_SYMBOL);
    }
    PluginEntry *entry;
    memcpy(&entry, &symbol, sizeof entry); /* C has no conversion between the two */
    const DeviceClass *class_ = entry();
    Error *error = check_class(class_, kind, path);
    if (error)
        (void)dlclose(library);
    else
        *out = class_;
    return error;
}

static Error *load_locked(const char *kind, const DeviceClass **out) {
    char path[PATH_LENGTH_MAX];
    for (size_t i = 0; i < loaded_count; i++)
        if (strcmp(loaded[i]->kind, kind) == 0) {
            *out = loaded[i];
            return NULL;
        }
    if (loaded_count == PLUGINS_MAX) FAIL(UNSUPPORTED, "there are %d plugins already", PLUGINS_MAX);
    TRY(find_file(kind, path));
    TRY(open_file(kind, path, out));
    loaded[loaded_count++] = *out;
    return NULL;
}

Error *plugin_load(const char *kind, const DeviceClass **out) {
    (void)pthread_mutex_lock(&mutex);
    Error *error = load_locked(kind, out);
    (void)pthread_mutex_unlock(&mutex);
    return error;
}
