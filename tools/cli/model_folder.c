#include "tools/cli/model_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { NAMES_TOLD = 5, ENTRIES_MAX = 100000 };

/* What was found so far. */
typedef struct Found {
    TextBuilder first, names;
    uint32_t count, entries;
} Found;

static void found_deinit(Found *found) {
    text_builder_deinit(&found->first);
    text_builder_deinit(&found->names);
}

static void add(Found *found, const char *path) {
    if (found->count == 0) text_append(&found->first, path);
    if (found->count < NAMES_TOLD)
        text_appendf(&found->names, "%s%s", found->count ? ", " : "", path);
    found->count++;
}

static bool is_folder(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Adds the models of a folder, and with depth 1 those of the folders in it. */
static Error *search(Found *found, const char *folder, uint32_t depth) {
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    Error *error = NULL;
    if (!directory) FAIL(IO, "%s: %s", folder, strerror(errno));
    while (!error && (entry = readdir(directory))) {
        TextBuilder OWN_TEXT(path) = {0};
        if (entry->d_name[0] == '.') continue;
        if (found->entries++ == ENTRIES_MAX) break;
        text_appendf(&path, "%s/%s", folder, entry->d_name);
        error = text_builder_check(&path);
        if (error) break;
        const char *name = text_builder_get(&path);
        if (is_folder(name)) {
            if (depth > 0) error = search(found, name, depth - 1);
        } else if (text_ends_with(name, ".onnx"))
            add(found, name);
    }
    (void)closedir(directory);
    return error;
}

static Error *choose(const char *path, Found *found, char out[PATH_MAX]) {
    TRY(search(found, path, 0));
    if (found->count == 0) TRY(search(found, path, 1));
    TRY(text_builder_check(&found->names));
    TRY(text_builder_check(&found->first));
    if (found->count == 0)
        FAIL(INVALID, "%s is a folder without an .onnx file in it or in its folders", path);
    if (found->count > 1)
        FAIL(INVALID, "%s is a folder with %u models: name one of %s%s", path, found->count,
            text_builder_get(&found->names), found->count > NAMES_TOLD ? ", …" : "");
    const int size = snprintf(out, PATH_MAX, "%s", text_builder_get(&found->first));
    if (size >= PATH_MAX) FAIL(INVALID, "%s: the path of its model is too long", path);
    return NULL;
}

Error *model_folder_find(const char **inout_path, char memory[PATH_MAX]) {
    Found found = {0};
    if (!is_folder(*inout_path)) return NULL;
    Error *error = choose(*inout_path, &found, memory);
    found_deinit(&found);
    if (!error) *inout_path = memory;
    return error;
}
