#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/system_random.h"

enum { PATH_SIZE_MAX = 4096, SYNC_EVERY_BYTES = 32 << 20, ACCESS_MODES = 0777 };

struct FileOutput {
    int descriptor;
    uint64_t size;
    uint64_t flushed; /* bytes handed to the disk so far, so that the final sync is short */
    char *path;
    char *temporary; /* NULL for a device, which is written directly; empty after the rename */
};

static Error *io_error(const char *verb, const char *path) {
    int number = errno;
    if (number == ENOSPC || number == EDQUOT)
        FAIL(EXHAUSTED, "cannot %s %s: the disk is full", verb, path);
    FAIL(IO, "cannot %s %s: %s", verb, path, strerror(number));
}

static Error *find_size(int descriptor, const char *path, size_t size_max, size_t *out_size) {
    struct stat status;
    if (fstat(descriptor, &status) != 0) return io_error("read", path);
    if (!S_ISREG(status.st_mode)) FAIL(INVALID, "%s is not a regular file", path);
    size_t size = (size_t)status.st_size;
    if (size > size_max)
        FAIL(INVALID, "%s has %zu bytes, at most %zu are read", path, size, size_max);
    *out_size = size;
    return NULL;
}

Error *file_read_descriptor(
    int descriptor, const char *path, size_t size_max, uint8_t **out_data, size_t *out_size) {
    size_t size;
    TRY(find_size(descriptor, path, size_max, &size));
    if (size == 0) {
        *out_data = NULL;
        *out_size = 0;
        return NULL;
    }
    void *data;
    TRY(memory_map(size, &data));
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(descriptor, (char *)data + done, size - done, (off_t)done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            if (got == 0) errno = EIO; /* the file shrank while this loop read it */
            memory_unmap(data, size);
            return io_error("read", path);
        }
        done += (size_t)got;
    }
    *out_data = data;
    *out_size = size;
    return NULL;
}

static Error *open_to_read(const char *path, int *out_descriptor) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        if (errno == ENOENT || errno == ENOTDIR) FAIL(NOT_FOUND, "no file %s", path);
        return io_error("open", path);
    }
    *out_descriptor = descriptor;
    return NULL;
}

Error *file_read(const char *path, size_t size_max, uint8_t **out_data, size_t *out_size) {
    int descriptor;
    TRY(open_to_read(path, &descriptor));
    Error *error = file_read_descriptor(descriptor, path, size_max, out_data, out_size);
    (void)close(descriptor);
    return error;
}

static Error *map_descriptor(int descriptor, const char *path, size_t size_max, MappedFile **out) {
    size_t size;
    TRY(find_size(descriptor, path, size_max, &size));
    if (size == 0) {
        *out = NULL;
        return NULL;
    }
    return error_wrap(mapped_file_open(descriptor, size, out), "%s", path);
}

Error *file_map(const char *path, size_t size_max, MappedFile **out) {
    int descriptor;
    TRY(open_to_read(path, &descriptor));
    Error *error = map_descriptor(descriptor, path, size_max, out);
    (void)close(descriptor);
    return error;
}

/* Creates a new file beside the path, with the rights that open(2) gives. */
static Error *create_temporary(FileOutput *output) {
    enum { TRIES = 100 };
    char temporary[PATH_SIZE_MAX];
    for (int i = 0; i < TRIES; i++) {
        uint32_t number;
        TRY(system_random(&number, sizeof number));
        int length =
            snprintf(temporary, sizeof temporary, "%s.%08" PRIx32 ".tmp", output->path, number);
        if (length < 0 || (size_t)length >= sizeof temporary)
            FAIL(INVALID, "the path %s is too long", output->path);
        output->descriptor = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (output->descriptor >= 0 || errno != EEXIST) break;
    }
    if (output->descriptor < 0) return io_error("create", output->path);
    Error *error = memory_copy_text(temporary, &output->temporary);
    if (error) (void)unlink(temporary);
    return error;
}

/* Returns the target of a symbolic link, or a copy of the path when the target cannot be found. */
static Error *resolve(const char *path, char **out) {
    char target[PATH_SIZE_MAX];
    return memory_copy_text(realpath(path, target) ? target : path, out);
}

Error *file_output_create(const char *path, FileOutput **out) {
    OWN(FileOutput, output) = NULL;
    void *memory;
    struct stat status;
    /* without this check, the temporary file would be written and only its rename would fail */
    if (!*path) FAIL(INVALID, "the name of the file to write is empty");
    TRY(memory_alloc(1, sizeof *output, &memory));
    output = memory;
    output->descriptor = -1;
    TRY(resolve(path, &output->path));
    const bool exists = stat(output->path, &status) == 0;
    if (exists && S_ISCHR(status.st_mode)) {
        output->descriptor = open(output->path, O_WRONLY | O_CLOEXEC);
        if (output->descriptor < 0) return io_error("open", path);
    } else {
        if (exists && !S_ISREG(status.st_mode))
            FAIL(INVALID, "%s is there and no regular file; it is left alone", path);
        TRY(create_temporary(output));
        if (exists) (void)fchmod(output->descriptor, status.st_mode & ACCESS_MODES);
    }
    *out = TAKE(output);
    return NULL;
}

Error *file_output_create_private(const char *path, FileOutput **out) {
    OWN(FileOutput, output) = NULL;
    TRY(file_output_create(path, &output));
    if (!output->temporary) FAIL(INVALID, "%s is a device, which cannot be private", output->path);
    if (fchmod(output->descriptor, S_IRUSR | S_IWUSR) != 0)
        return io_error("change the rights of", output->path);
    *out = TAKE(output);
    return NULL;
}

Error *file_output_write_at(FileOutput *output, uint64_t offset, const void *data, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t put = pwrite(
            output->descriptor, (const char *)data + done, size - done, (off_t)(offset + done));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return io_error("write", output->path);
        done += (size_t)put;
    }
    if (offset + size > output->size) output->size = offset + size;
    if (output->size - output->flushed >= SYNC_EVERY_BYTES) {
        (void)sync_file_range(output->descriptor, (off_t)output->flushed,
            (off_t)(output->size - output->flushed), SYNC_FILE_RANGE_WRITE);
        output->flushed = output->size;
    }
    return NULL;
}

Error *file_output_write(FileOutput *output, const void *data, size_t size) {
    return file_output_write_at(output, output->size, data, size);
}

uint64_t file_output_size(const FileOutput *output) { return output->size; }

static Error *sync_folder_of(const char *path) {
    char folder[PATH_SIZE_MAX];
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    if (length >= sizeof folder) FAIL(INVALID, "the path %s is too long", path);
    if (!slash)
        (void)snprintf(folder, sizeof folder, ".");
    else
        (void)snprintf(folder, sizeof folder, "%.*s/", (int)length, path);
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return io_error("open", folder);
    Error *error = fsync(descriptor) != 0 ? io_error("sync", folder) : NULL;
    (void)close(descriptor);
    return error;
}

Error *file_output_publish(FileOutput *output) {
    if (!output->temporary) return NULL;
    if (rename(output->temporary, output->path) != 0) return io_error("rename", output->path);
    output->temporary[0] = 0;
    return NULL;
}

Error *file_output_commit(FileOutput *output) {
    if (!output->temporary) return NULL;
    if (fsync(output->descriptor) != 0) return io_error("sync", output->path);
    TRY(file_output_publish(output));
    return sync_folder_of(output->path);
}

void file_output_release(FileOutput *output) {
    if (!output) return;
    if (output->descriptor >= 0) (void)close(output->descriptor);
    if (output->temporary && output->temporary[0]) (void)unlink(output->temporary);
    memory_free(output->path);
    memory_free(output->temporary);
    memory_free(output);
}

Error *file_write_atomic(const char *path, const void *data, size_t size) {
    OWN(FileOutput, output) = NULL;
    TRY(file_output_create(path, &output));
    TRY(file_output_write(output, data, size));
    return file_output_commit(output);
}
