#include "tests/scheduler/peer_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/bytes.h"
#include "tests/support/test_support.h"

enum { PIECE = 65536, POLL_MS = 20 };

static int connect_to(const char *target) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons((uint16_t)strtoul(strrchr(target, ':') + 1, NULL, 10));
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(connection, (struct sockaddr *)&address, sizeof address) == 0) return connection;
    (void)close(connection);
    return -1;
}

static bool send_all(int connection, const void *data, size_t size) {
    const uint8_t *at = data;
    while (size > 0) {
        ssize_t sent = send(connection, at, size, MSG_NOSIGNAL);
        if (sent <= 0) return false;
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

/* False: the other side closed it. */
static bool receive(PeerProxy *proxy, int connection, ByteWriter *out) {
    uint8_t piece[PIECE];
    struct pollfd item = {.fd = connection, .events = POLLIN};
    while (poll(&item, 1, POLL_MS) == 0)
        if (atomic_load(&proxy->stopping)) return false;
    ssize_t got = recv(connection, piece, sizeof piece, 0);
    if (got <= 0) return false;
    byte_write_bytes(out, piece, (size_t)got);
    return true;
}

/* The head with its empty line; 0: not all of it is there. */
static size_t head_size(ByteWriter *request) {
    byte_write_u8(request, 0);
    const char *text = (const char *)request->data, *end = strstr(text, "\r\n\r\n");
    request->size--;
    return end ? (size_t)(end - text) + 4 : 0;
}

static bool read_request(PeerProxy *proxy, int connection, ByteWriter *out, size_t *out_head) {
    size_t body = 0, head;
    while ((head = head_size(out)) == 0)
        if (!receive(proxy, connection, out)) return false;
    const char *length = strcasestr((const char *)out->data, "content-length:");
    if (length) body = strtoul(length + 15, NULL, 10);
    if (strcasestr((const char *)out->data, "100-continue") && out->size < head + body)
        (void)send_all(connection, "HTTP/1.1 100 Continue\r\n\r\n", 25);
    while (out->size < head + body)
        if (!receive(proxy, connection, out)) return false;
    *out_head = head;
    return true;
}

static void forward(PeerProxy *proxy, int connection, const ByteWriter *request, size_t head) {
    static const char last[] = "\r\nConnection: close\r\n\r\n";
    ByteWriter OWN_BYTES(answer) = {0};
    int target = proxy->target ? connect_to(proxy->target) : -1;
    if (target < 0) return;
    bool sent = send_all(target, request->data, head - 4) &&
                send_all(target, last, sizeof last - 1) &&
                send_all(target, request->data + head, request->size - head);
    while (sent && receive(proxy, target, &answer)) continue;
    (void)close(target);
    if (connection >= 0) (void)send_all(connection, answer.data, answer.size);
}

static void say(const PeerRule *rule, int connection) {
    char text[8192];
    int size = snprintf(text, sizeof text,
        "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
        "Connection: close\r\n\r\n%s",
        rule->status, strlen(rule->says), rule->says);
    (void)send_all(connection, text, (size_t)size);
}

static bool applies(PeerProxy *proxy, const ByteWriter *request, PeerRule *out_rule) {
    char line[512];
    (void)pthread_mutex_lock(&proxy->mutex);
    *out_rule = proxy->rule;
    (void)pthread_mutex_unlock(&proxy->mutex);
    (void)snprintf(line, sizeof line, "%.*s", (int)strcspn((const char *)request->data, "\r"),
        (const char *)request->data);
    if (!out_rule->part || !strstr(line, out_rule->part) || atomic_load(&proxy->times) <= 0)
        return false;
    atomic_fetch_sub(&proxy->times, 1);
    atomic_fetch_add(&proxy->applied, 1);
    return true;
}

static void answer(PeerProxy *proxy, int connection) {
    ByteWriter OWN_BYTES(request) = {0};
    ByteWriter OWN_BYTES(rest) = {0};
    size_t head;
    if (!read_request(proxy, connection, &request, &head)) return;
    atomic_fetch_add(&proxy->requests, 1);
    PeerRule rule;
    bool ruled = applies(proxy, &request, &rule);
    if (ruled && proxy->before) proxy->before(proxy->context);
    switch (ruled ? rule.action : PEER_FORWARDS) {
    case PEER_FORWARDS:
        forward(proxy, connection, &request, head);
        break;
    case PEER_LOSES_REQUEST:
        break;
    case PEER_LOSES_ANSWER:
        forward(proxy, -1, &request, head);
        break;
    case PEER_SAYS:
        say(&rule, connection);
        break;
    case PEER_STALLS:
        while (receive(proxy, connection, &rest)) continue;
        break;
    }
}

static void *serve(void *argument) {
    PeerProxy *proxy = argument;
    for (;;) {
        int connection = accept(proxy->listener, NULL, NULL);
        if (connection < 0) return NULL;
        answer(proxy, connection);
        (void)shutdown(connection, SHUT_WR);
        (void)close(connection);
    }
}

PeerProxy *peer_proxy_start(const char *target) {
    void *memory;
    assert_ok(memory_alloc(1, sizeof(PeerProxy), &memory));
    PeerProxy *proxy = memory;
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    (void)pthread_mutex_init(&proxy->mutex, NULL);
    proxy->target = target;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(proxy->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(proxy->listener, 16), 0);
    assert_int_equal(getsockname(proxy->listener, (struct sockaddr *)&address, &size), 0);
    (void)snprintf(proxy->url, sizeof proxy->url, "http://127.0.0.1:%d", ntohs(address.sin_port));
    assert_int_equal(pthread_create(&proxy->thread, NULL, serve, proxy), 0);
    return proxy;
}

void peer_proxy_set(PeerProxy *proxy, const char *part, PeerAction action, int times, int status,
    const char *says) {
    (void)pthread_mutex_lock(&proxy->mutex);
    proxy->rule = (PeerRule){part, says, action, status};
    (void)pthread_mutex_unlock(&proxy->mutex);
    atomic_store(&proxy->applied, 0);
    atomic_store(&proxy->times, times);
}

static void stop(PeerProxy *proxy) {
    atomic_store(&proxy->stopping, true);
    (void)shutdown(proxy->listener, SHUT_RDWR);
    (void)pthread_join(proxy->thread, NULL);
    (void)close(proxy->listener);
    (void)pthread_mutex_destroy(&proxy->mutex);
    memory_free(proxy);
}

void peer_proxy_release(PeerProxy **proxy) { stop(*proxy); }
