#include "compiler/frontend/base/onnx_external.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

enum { LOCATION_LENGTH_MAX = 1024, PROC_NAME_SIZE = 48 };

typedef struct ExternalData {
    const char *location;
    uint64_t offset;
    uint64_t length;
    int has_length;
} ExternalData;

static Error *parse_entries(const Onnx__TensorProto *tensor, ExternalData *out) {
    ExternalData data = {0};
    for (size_t i = 0; i < tensor->n_external_data; i++) {
        const Onnx__StringStringEntryProto *entry = tensor->external_data[i];
        const char *key = entry->key ? entry->key : "", *value = entry->value ? entry->value : "";
        if (strcmp(key, "location") == 0)
            data.location = value;
        else if (strcmp(key, "offset") == 0) {
            if (!text_parse_u64(value, &data.offset))
                FAIL(INVALID, "external data: offset %s is not a number", value);
        } else if (strcmp(key, "length") == 0) {
            if (!text_parse_u64(value, &data.length))
                FAIL(INVALID, "external data: length %s is not a number", value);
            data.has_length = 1;
        }
    }
    if (!data.location || !data.location[0]) FAIL(INVALID, "external data without a location");
    *out = data;
    return NULL;
}

/* Opens one component below folder. The caller keeps both descriptors. */
static Error *open_component(
    int folder, const char *name, int is_last, const char *location, int *out) {
    int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (is_last ? 0 : O_DIRECTORY);
    int descriptor = openat(folder, name, flags);
    if (descriptor >= 0) {
        *out = descriptor;
        return NULL;
    }
    if (errno == ELOOP || errno == ENOTDIR)
        FAIL(INVALID,
            "external data %s goes through a symbolic link or a file; only plain files "
            "in the model's folder are read",
            location);
    if (errno == ENOENT) FAIL(NOT_FOUND, "external data %s does not exist", location);
    FAIL(IO, "external data %s: %s", location, strerror(errno));
}

/* Empty only before the first slash: the path is absolute. */
static Error *check_component(const char *name, const char *location, int is_first) {
    if ((is_first && !name[0]) || strcmp(name, "..") == 0)
        FAIL(INVALID, "external data %s is outside the model's folder", location);
    return NULL;
}

static Error *open_below(int directory_descriptor, const char *location, int *out) {
    char path[LOCATION_LENGTH_MAX + 1];
    size_t length = strlen(location);
    if (length > LOCATION_LENGTH_MAX) FAIL(INVALID, "external data: location of %zu bytes", length);
    memcpy(path, location, length + 1);
    int folder = directory_descriptor;
    for (char *name = path;;) {
        char *slash = strchr(name, '/');
        if (slash) *slash = 0;
        int opened = -1;
        Error *error = check_component(name, location, name == path);
        const char *component = name[0] ? name : ".";
        if (!error) error = open_component(folder, component, slash == NULL, location, &opened);
        if (folder != directory_descriptor) (void)close(folder);
        if (error) return error;
        if (!slash) {
            *out = opened;
            return NULL;
        }
        folder = opened;
        name = slash + 1;
    }
}

static Error *check_names(const char *location) {
    if (strlen(location) > LOCATION_LENGTH_MAX)
        FAIL(INVALID, "external data: location of %zu bytes", strlen(location));
    if (location[0] == '/' || strcmp(location, "..") == 0 || strncmp(location, "../", 3) == 0 ||
        strstr(location, "/../") || text_ends_with(location, "/.."))
        FAIL(INVALID, "external data %s is outside the model's folder", location);
    return NULL;
}

/* Checks the path of an open file, as the kernel reports it. */
static Error *check_place(int file, const char *tree, const char *location) {
    char name[PROC_NAME_SIZE], path[PATH_MAX];
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    const ssize_t size = readlink(name, path, sizeof path - 1);
    if (size < 0) FAIL(IO, "external data %s: %s", location, strerror(errno));
    path[size] = 0;
    const size_t length = strlen(tree);
    if (length == 0 || (strncmp(path, tree, length) == 0 && path[length] == '/')) return NULL;
    FAIL(INVALID,
        "external data %s leads to %s, which is outside %s; --follow-links reads it all the same",
        location, path, tree);
}

/* Checks a file that is already open with O_PATH, so that no link can change between check and use.
 * Devices and pipes are never opened for reading. */
static Error *open_checked(int file, const char *tree, const char *location, int *out) {
    char name[PROC_NAME_SIZE];
    struct stat status;
    TRY(check_place(file, tree, location));
    if (fstat(file, &status) != 0) FAIL(IO, "external data %s: %s", location, strerror(errno));
    if (!S_ISREG(status.st_mode)) FAIL(INVALID, "external data %s is not a regular file", location);
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    *out = open(name, O_RDONLY | O_CLOEXEC);
    if (*out < 0) FAIL(IO, "external data %s: %s", location, strerror(errno));
    return NULL;
}

static Error *open_in_tree(const OnnxFolder *folder, const char *location, int *out) {
    TRY(check_names(location));
    const int file = openat(folder->descriptor, location, O_PATH | O_CLOEXEC);
    if (file < 0 && errno == ENOENT) FAIL(NOT_FOUND, "external data %s does not exist", location);
    if (file < 0) FAIL(IO, "external data %s: %s", location, strerror(errno));
    Error *error = open_checked(file, folder->tree, location, out);
    (void)close(file);
    return error;
}

static Error *check_file(
    int descriptor, const OnnxFolder *folder, const ExternalData *data, uint64_t size) {
    struct stat status;
    if (fstat(descriptor, &status) != 0)
        FAIL(IO, "external data %s: %s", data->location, strerror(errno));
    if (!S_ISREG(status.st_mode))
        FAIL(INVALID, "external data %s is not a regular file", data->location);
    if (!folder->tree && status.st_nlink != 1)
        FAIL(INVALID,
            "external data %s has more than one hard link; it may belong to something "
            "outside the model's folder",
            data->location);
    uint64_t file_size = (uint64_t)status.st_size;
    if (data->has_length && data->length != size)
        FAIL(INVALID, "external data %s: length %llu, the tensor has %llu bytes", data->location,
            (unsigned long long)data->length, (unsigned long long)size);
    if (data->offset > file_size || size > file_size - data->offset)
        FAIL(INVALID, "external data %s: %llu bytes at offset %llu, the file has %llu",
            data->location, (unsigned long long)size, (unsigned long long)data->offset,
            (unsigned long long)file_size);
    return NULL;
}

Error *onnx_external_open(const Onnx__TensorProto *tensor, const OnnxFolder *folder, uint64_t size,
    int *out_descriptor, uint64_t *out_offset) {
    ExternalData data;
    TRY(parse_entries(tensor, &data));
    if (!folder)
        FAIL(UNSUPPORTED, "external data %s: this model must hold its data itself", data.location);
    int descriptor = -1;
    if (folder->tree)
        TRY(open_in_tree(folder, data.location, &descriptor));
    else
        TRY(open_below(folder->descriptor, data.location, &descriptor));
    Error *error = check_file(descriptor, folder, &data, size);
    if (error) {
        (void)close(descriptor);
        return error;
    }
    *out_descriptor = descriptor;
    *out_offset = data.offset;
    return NULL;
}

Error *onnx_external_read(int descriptor, uint64_t offset, void *out, uint64_t size) {
    for (uint64_t done = 0; done < size;) {
        ssize_t got = pread(descriptor, (char *)out + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) FAIL(IO, "external data: %s", got ? strerror(errno) : "the file shrank");
        done += (uint64_t)got;
    }
    return NULL;
}
