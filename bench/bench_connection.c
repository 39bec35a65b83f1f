#include "bench/bench_connection.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text.h"

Error *bench_connection_open(const char *socket_path, BenchConnection *out) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    *out = (BenchConnection){.socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (strlen(socket_path) >= sizeof address.sun_path)
        FAIL(INVALID, "%s: too long for a socket", socket_path);
    memcpy(address.sun_path, socket_path, strlen(socket_path) + 1);
    if (out->socket < 0 || connect(out->socket, (struct sockaddr *)&address, sizeof address) != 0)
        FAIL(UNREACHABLE, "%s: %s", socket_path, strerror(errno));
    return NULL;
}

void bench_connection_close(BenchConnection *connection) {
    if (connection->socket >= 0) (void)close(connection->socket);
    byte_writer_deinit(&connection->buffer);
}

Error *bench_connection_send(const BenchConnection *connection, const void *data, size_t size) {
    for (const char *at = data; size > 0;) {
        ssize_t count = send(connection->socket, at, size, MSG_NOSIGNAL);
        if (count < 0) FAIL(UNREACHABLE, "send: %s", strerror(errno));
        at += count;
        size -= (size_t)count;
    }
    return NULL;
}

static Error *receive_some(BenchConnection *connection) {
    char block[16 << 10];
    ssize_t count = recv(connection->socket, block, sizeof block, 0);
    if (count <= 0) FAIL(UNREACHABLE, "the daemon closed the connection");
    byte_write_bytes(&connection->buffer, block, (size_t)count);
    return byte_writer_check(&connection->buffer);
}

/* The head's end, once it is there; it ends with a NUL then instead of the empty line. */
static size_t find_body(ByteWriter *buffer) {
    static const char end[] = "\r\n\r\n";
    uint8_t *at = buffer->size ? memmem(buffer->data, buffer->size, end, 4) : NULL;
    if (!at) return 0;
    *at = 0;
    return (size_t)(at - buffer->data) + 4;
}

Error *bench_connection_receive(BenchConnection *connection, int *out_status) {
    size_t body = 0;
    uint64_t length;
    connection->buffer.size = 0;
    while (!(body = find_body(&connection->buffer))) TRY(receive_some(connection));
    const char *head = (const char *)connection->buffer.data;
    const char *field = strcasestr(head, "\r\ncontent-length: ");
    char digits[24] = {0};
    if (!field) FAIL(UNSUPPORTED, "an answer without Content-Length");
    (void)sscanf(field + 18, "%23[0-9]", digits);
    if (!text_parse_u64(digits, &length)) FAIL(CORRUPT, "Content-Length is no number");
    if (sscanf(head, "HTTP/1.1 %d", out_status) != 1) FAIL(CORRUPT, "no status");
    while (connection->buffer.size < body + length) TRY(receive_some(connection));
    byte_write_u8(&connection->buffer, 0);
    TRY(byte_writer_check(&connection->buffer));
    connection->body = (const char *)connection->buffer.data + body;
    connection->body_size = (size_t)length;
    return NULL;
}

Error *bench_connection_call(BenchConnection *connection, const char *method, const char *target,
    const char *type, const void *body, size_t size) {
    char head[BENCH_HEAD_SIZE];
    int status;
    int length = snprintf(head, sizeof head,
        "%s %s HTTP/1.1\r\nHost: layover\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n",
        method, target, type, size);
    TRY(bench_connection_send(connection, head, (size_t)length));
    if (size) TRY(bench_connection_send(connection, body, size));
    TRY(bench_connection_receive(connection, &status));
    if (status >= 300) FAIL(INVALID, "%s %s: %d: %.200s", method, target, status, connection->body);
    return NULL;
}

Error *bench_connection_get(BenchConnection *connection, const char *target) {
    return bench_connection_call(connection, "GET", target, "text/plain", NULL, 0);
}
