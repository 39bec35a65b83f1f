#include "tools/remote/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/file.h"

/* The descriptor is checked, not the path, which may name another file by then. */
static Error *check_rights(int descriptor, const char *path) {
    struct stat status;
    if (fstat(descriptor, &status) != 0) FAIL(IO, "look at %s: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode)) FAIL(INVALID, "%s is not a regular file", path);
    if (status.st_uid != geteuid())
        FAIL(REFUSED, "%s belongs to another user; a file with a token must be your own", path);
    if (status.st_mode & (S_IRWXG | S_IRWXO))
        FAIL(REFUSED, "%s has a token and others have rights on it; run chmod 600 %s", path, path);
    return NULL;
}

static Error *open_checked(const char *path, int *out_descriptor) {
    /* without O_NONBLOCK the open of a FIFO would wait */
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0 && errno == ENOENT) FAIL(NOT_FOUND, "there is no file %s", path);
    if (descriptor < 0) FAIL(IO, "open %s: %s", path, strerror(errno));
    Error *error = check_rights(descriptor, path);
    if (error)
        (void)close(descriptor);
    else
        *out_descriptor = descriptor;
    return error;
}

static bool is_blank(char letter) { return letter == ' ' || letter == '\t'; }

static Error *find_line(const char *path, const uint8_t *data, size_t size, char **out) {
    void *memory;
    size_t begin = 0, end;
    while (begin < size && is_blank((char)data[begin])) begin++;
    for (end = begin; end < size && data[end] >= ' ' && data[end] != 0x7f;) end++;
    for (size_t i = end; i < size; i++)
        if (!is_blank((char)data[i]) && data[i] != '\n' && data[i] != '\r')
            FAIL(INVALID, "%s: one line is wanted, and nothing else", path);
    while (end > begin && is_blank((char)data[end - 1])) end--;
    if (begin == end) FAIL(INVALID, "%s: there is nothing in the file", path);
    TRY(memory_alloc(1, end - begin + 1, &memory));
    memcpy(memory, data + begin, end - begin);
    *out = memory;
    return NULL;
}

Error *private_file_read_line(const char *path, char **out_line) {
    uint8_t *data;
    size_t size;
    int descriptor;
    TRY(open_checked(path, &descriptor));
    Error *error = file_read_descriptor(descriptor, path, PRIVATE_FILE_SIZE_MAX, &data, &size);
    (void)close(descriptor);
    TRY(error);
    error = find_line(path, data, size, out_line);
    if (size) explicit_bzero(data, size);
    memory_unmap(data, size);
    return error;
}

void private_file_release(char *line) {
    if (line) explicit_bzero(line, strlen(line));
    memory_free(line);
}

Error *private_file_write_line(const char *path, const char *line) {
    OWN(FileOutput, output) = NULL;
    TRY(file_output_create_private(path, &output));
    TRY(file_output_write(output, line, strlen(line)));
    TRY(file_output_write(output, "\n", 1));
    return file_output_commit(output);
}
