#include "scheduler/http/server/listen_socket.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text.h"

enum { BACKLOG = 1024, HOST_SIZE_MAX = 256 };

static Error *fail_errno(const char *verb, const char *what) {
    int number = errno;
    if (number == EADDRINUSE || number == EACCES || number == EADDRNOTAVAIL)
        FAIL(REFUSED, "cannot %s %s: %s", verb, what, strerror(number));
    FAIL(IO, "cannot %s %s: %s", verb, what, strerror(number));
}

/* Removes the socket file of a daemon that has ended. */
static Error *remove_stale(const char *path, const struct sockaddr_un *address) {
    struct stat status;
    if (lstat(path, &status) != 0) {
        if (errno == ENOENT) return NULL;
        return fail_errno("look at", path);
    }
    if (!S_ISSOCK(status.st_mode)) FAIL(REFUSED, "%s is there and no socket", path);
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0) return fail_errno("make", "a socket");
    int result = connect(probe, (const struct sockaddr *)address, sizeof *address);
    int number = errno;
    (void)close(probe);
    if (result == 0 || number == EAGAIN || number == EINPROGRESS)
        FAIL(REFUSED, "%s: a daemon answers there already", path);
    if (number != ECONNREFUSED && number != ENOENT) {
        errno = number;
        return fail_errno("connect to", path);
    }
    if (unlink(path) != 0 && errno != ENOENT) return fail_errno("remove", path);
    return NULL;
}

Error *listen_socket_open_unix(const char *path, int *out_socket) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!*path || strlen(path) >= sizeof address.sun_path)
        FAIL(INVALID, "the socket's path %s has %zu bytes; 1 to %zu are possible", path,
            strlen(path), sizeof address.sun_path - 1);
    memcpy(address.sun_path, path, strlen(path) + 1);
    TRY(remove_stale(path, &address));
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0) return fail_errno("make", "a socket");
    /* on Linux the file takes the socket's mode, so that it is never wider for a moment */
    Error *error = NULL;
    if (fchmod(listener, 0600) != 0 ||
        bind(listener, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, BACKLOG) != 0)
        error = fail_errno("listen at", path);
    if (error)
        (void)close(listener);
    else
        *out_socket = listener;
    return error;
}

/* Splits HOST:PORT into its two parts, and removes brackets around an IPv6 address. */
static Error *split_address(const char *address, char host[HOST_SIZE_MAX], const char **out_port) {
    const char *colon = strrchr(address, ':');
    int64_t port;
    if (!colon || !text_parse_i64(colon + 1, &port) || port < 0 || port > 65535)
        FAIL(USAGE, "%s: HOST:PORT is wanted", address);
    bool brackets = address[0] == '[' && colon > address && colon[-1] == ']';
    const char *start = address + brackets;
    size_t length = (size_t)(colon - start) - brackets;
    if (length == 0 || length >= HOST_SIZE_MAX || (!brackets && memchr(start, ':', length)))
        FAIL(USAGE, "%s: HOST:PORT is wanted, an IPv6 address in brackets", address);
    memcpy(host, start, length);
    host[length] = 0;
    *out_port = colon + 1;
    return NULL;
}

static Error *print_address(int listener, const char *host, char out[LISTEN_ADDRESS_SIZE]) {
    struct sockaddr_storage bound;
    socklen_t size = sizeof bound;
    char port[16];
    if (getsockname(listener, (struct sockaddr *)&bound, &size) != 0 ||
        getnameinfo((struct sockaddr *)&bound, size, NULL, 0, port, sizeof port, NI_NUMERICSERV))
        return fail_errno("look at", host);
    bool brackets = strchr(host, ':') != NULL;
    (void)snprintf(out, LISTEN_ADDRESS_SIZE, "%s%s%s:%s", brackets ? "[" : "", host,
        brackets ? "]" : "", port);
    return NULL;
}

static Error *bind_one(const struct addrinfo *at, const char *address, int *out_listener) {
    static const int on = 1;
    int listener = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
    if (listener < 0) return fail_errno("make", "a socket");
    if (setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(listener, at->ai_addr, at->ai_addrlen) == 0 && listen(listener, BACKLOG) == 0) {
        *out_listener = listener;
        return NULL;
    }
    Error *error = fail_errno("listen at", address);
    (void)close(listener);
    return error;
}

Error *listen_socket_open_tcp(
    const char *address, int *out_socket, char out_address[LISTEN_ADDRESS_SIZE]) {
    char host[HOST_SIZE_MAX];
    const char *port;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found;
    int listener = -1;
    TRY(split_address(address, host, &port));
    int result = getaddrinfo(host, port, &hints, &found);
    if (result) FAIL(INVALID, "%s: %s", address, gai_strerror(result));
    Error *error = bind_one(found, address, &listener);
    for (const struct addrinfo *at = found->ai_next; error && at; at = at->ai_next) {
        error_free(error); /* the last address' error is returned */
        error = bind_one(at, address, &listener);
    }
    freeaddrinfo(found);
    if (!error) error = print_address(listener, host, out_address);
    if (error && listener >= 0) (void)close(listener);
    if (!error) *out_socket = listener;
    return error;
}

uint64_t listen_socket_inode(const char *path) {
    struct stat status;
    return lstat(path, &status) == 0 && S_ISSOCK(status.st_mode) ? (uint64_t)status.st_ino : 0;
}

void listen_socket_remove(const char *path, uint64_t inode) {
    if (inode && listen_socket_inode(path) == inode) (void)unlink(path);
}
