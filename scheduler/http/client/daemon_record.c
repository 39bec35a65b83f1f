#include "scheduler/http/client/daemon_record.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/file.h"
#include "base/text.h"

static const char file_name[] = "daemon";
enum { RECORD_SIZE_MAX = 8192, RECORD_LINES = 4 };

static Error *find_number(const char *home, unsigned long long *out_number) {
    struct stat status;
    if (stat(home, &status) != 0) FAIL(IO, "look at %s: %s", home, strerror(errno));
    *out_number = (unsigned long long)status.st_ino;
    return NULL;
}

Error *daemon_record_write(const char *home, const char *socket_path, const char *url) {
    TextBuilder OWN_TEXT(path) = {0};
    TextBuilder OWN_TEXT(text) = {0};
    text_appendf(&path, "%s/%s", home, file_name);
    unsigned long long number;
    TRY(find_number(home, &number));
    text_appendf(&text, "%ld\n%s\n%s\n%llu\n", (long)getpid(), socket_path, url ? url : "", number);
    TRY(text_builder_check(&path));
    TRY(text_builder_check(&text));
    return file_write_atomic(text_builder_get(&path), text_builder_get(&text), text.size);
}

void daemon_record_remove(const char *home) {
    TextBuilder OWN_TEXT(path) = {0};
    text_appendf(&path, "%s/%s", home, file_name);
    Error *error = text_builder_check(&path);
    if (!error) (void)unlink(text_builder_get(&path));
    error_free(error); /* the file stays, and nobody answers there */
}

static bool answers(const char *socket_path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!*socket_path || strlen(socket_path) >= sizeof address.sun_path) return false;
    memcpy(address.sun_path, socket_path, strlen(socket_path) + 1);
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe < 0) return false;
    bool connected = connect(probe, (const struct sockaddr *)&address, sizeof address) == 0;
    (void)close(probe);
    return connected;
}

/* Lines that are not there stay NULL. */
static void split(char *text, char *out_lines[RECORD_LINES]) {
    for (int i = 0; i < RECORD_LINES; i++) {
        char *end = strchr(text, '\n');
        if (!end) return;
        *end = 0;
        out_lines[i] = text;
        text = end + 1;
    }
}

Error *daemon_record_find(const char *home, char **out_socket) {
    TextBuilder OWN_TEXT(path) = {0};
    uint8_t *data;
    size_t size;
    char text[RECORD_SIZE_MAX + 1];
    *out_socket = NULL;
    text_appendf(&path, "%s/%s", home, file_name);
    TRY(text_builder_check(&path));
    Error *error = file_read(text_builder_get(&path), RECORD_SIZE_MAX, &data, &size);
    if (error_code(error) == ERROR_NOT_FOUND) {
        error_free(error);
        return NULL;
    }
    TRY(error);
    if (size) memcpy(text, data, size);
    text[size] = 0;
    memory_unmap(data, size);
    char *lines[RECORD_LINES] = {0};
    split(text, lines);
    const char *socket_path = lines[1];
    if (!lines[3]) return NULL;
    unsigned long long number;
    uint64_t recorded;
    TRY(find_number(home, &number));
    if (!text_parse_u64(lines[3], &recorded) || recorded != number) return NULL;
    return answers(socket_path) ? memory_copy_text(socket_path, out_socket) : NULL;
}
