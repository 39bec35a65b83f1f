#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "base/thread.h"
#include "scheduler/http/server/http_places.h"
#include "scheduler/http/server/http_server_internal.h"

enum { TICK_MS_MAX = 250, TICK_MS_MIN = 5, KEEP_ALIVE_S = 60 };

void http_connection_limit(HttpConnection *connection, uint64_t limit_ms) {
    HttpServer *server = connection->server;
    uint64_t deadline = limit_ms ? clock_now_ns(clock_real()) + limit_ms * 1000000 : 0;
    (void)pthread_mutex_lock(&server->mutex);
    connection->deadline_ns = deadline;
    (void)pthread_mutex_unlock(&server->mutex);
}

static void link_connection(HttpServer *server, HttpConnection *connection) {
    (void)pthread_mutex_lock(&server->mutex);
    connection->next = server->connections;
    if (connection->next) connection->next->previous = connection;
    server->connections = connection;
    http_places_make(server, connection);
    (void)pthread_mutex_unlock(&server->mutex);
}

static void unlink_connection(HttpServer *server, HttpConnection *connection) {
    (void)pthread_mutex_lock(&server->mutex);
    if (connection->next) connection->next->previous = connection->previous;
    if (connection->previous)
        connection->previous->next = connection->next;
    else
        server->connections = connection->next;
    (void)pthread_mutex_unlock(&server->mutex);
}

void http_connection_trust(HttpConnection *connection) {
    (void)pthread_mutex_lock(&connection->server->mutex);
    connection->trusted = true;
    (void)pthread_mutex_unlock(&connection->server->mutex);
}

static void read_peer(HttpConnection *connection) {
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    if (getpeername(connection->descriptor, (struct sockaddr *)&address, &size) != 0) return;
    const struct sockaddr_in *four = (const struct sockaddr_in *)&address;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&address;
    if (address.ss_family == AF_INET)
        memcpy(connection->peer, &four->sin_addr, sizeof four->sin_addr);
    else if (address.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
        memcpy(connection->peer, six->sin6_addr.s6_addr + 12, 4);
    else if (address.ss_family == AF_INET6)
        memcpy(connection->peer, &six->sin6_addr, 8);
}

/* Finds peers that lost power, which answer no probe. */
static void keep_alive(int descriptor) {
    static const int on = 1, seconds = KEEP_ALIVE_S;
    (void)setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
}

/* A connection without memory for its record is refused all requests. */
void http_monitor_notice(void *self, struct MHD_Connection *mhd, void **socket_context,
    enum MHD_ConnectionNotificationCode code) {
    HttpListener *listener = self;
    HttpServer *server = listener->server;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        void *memory;
        Error *error = memory_alloc(1, sizeof(HttpConnection), &memory);
        error_free(error); /* the record is NULL then */
        if (error) return;
        HttpConnection *connection = memory;
        connection->server = server;
        connection->origin = listener->origin;
        connection->descriptor =
            microhttpd.get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        connection->trusted = listener->origin == HTTP_ORIGIN_UNIX;
        read_peer(connection);
        if (listener->origin == HTTP_ORIGIN_TCP) keep_alive(connection->descriptor);
        const union MHD_ConnectionInfo *tls =
            microhttpd.get_connection_info(mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
        http_gate_open(&connection->gate, connection->descriptor, tls ? tls->tls_session : NULL);
        link_connection(server, connection);
        http_connection_limit(connection, server->options.head_limit_ms);
        metrics_add(server->service->metrics, METRIC_HTTP_CONNECTIONS, 0, 1);
        *socket_context = connection;
    } else if (*socket_context) {
        unlink_connection(server, *socket_context);
        http_gate_close(&((HttpConnection *)*socket_context)->gate);
        memory_free(*socket_context);
        *socket_context = NULL;
        metrics_add(server->service->metrics, METRIC_HTTP_CONNECTIONS, 0, -1);
    }
}

/* No client of ours, and no browser, shuts down its sending side while it waits for an answer, so a
 * peer that does has gone. */
static bool is_gone(int descriptor) {
    struct pollfd item = {.fd = descriptor, .events = POLLRDHUP};
    return poll(&item, 1, 0) > 0 && (item.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL));
}

static bool waits(HttpExchange *exchange) {
    (void)pthread_mutex_lock(&exchange->mutex);
    const bool waiting = exchange->waiting || exchange->cuttable;
    (void)pthread_mutex_unlock(&exchange->mutex);
    return waiting;
}

/* Under the server's mutex, so that descriptors are open. After a shutdown the thread that serves
 * the connection closes it. */
static void look(HttpServer *server) {
    uint64_t now = clock_now_ns(clock_real());
    for (HttpConnection *at = server->connections; at; at = at->next) {
        if (at->deadline_ns && now >= at->deadline_ns) {
            at->deadline_ns = 0;
            (void)shutdown(at->descriptor, SHUT_RDWR);
            metrics_increment(server->service->metrics, METRIC_HTTP_CUT);
        } else if (at->exchange && waits(at->exchange) && is_gone(at->descriptor)) {
            http_exchange_cut(at->exchange);
            http_stream_cut(at->exchange);
        }
    }
}

static uint32_t tick_ms(const HttpServerOptions *options) {
    uint32_t tick = options->head_limit_ms;
    if (options->body_limit_ms < tick) tick = options->body_limit_ms;
    if (options->idle_limit_ms < tick) tick = options->idle_limit_ms;
    if (options->read_limit_ms < tick) tick = options->read_limit_ms;
    tick /= 4;
    return tick < TICK_MS_MIN ? TICK_MS_MIN : tick > TICK_MS_MAX ? TICK_MS_MAX : tick;
}

static void *monitor(void *argument) {
    HttpServer *server = argument;
    uint32_t tick = tick_ms(&server->options);
    (void)pthread_mutex_lock(&server->mutex);
    while (server->monitoring) {
        struct timespec until;
        look(server);
        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += (long)tick * 1000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        (void)pthread_cond_timedwait(&server->changed, &server->mutex, &until);
    }
    (void)pthread_mutex_unlock(&server->mutex);
    return NULL;
}

Error *http_monitor_start(HttpServer *server) {
    server->monitoring = true;
    if (thread_start(&server->monitor, "http-monitor", monitor, server)) return NULL;
    server->monitoring = false;
    FAIL(EXHAUSTED, "the system gives no more threads");
}

void http_monitor_stop(HttpServer *server) {
    (void)pthread_mutex_lock(&server->mutex);
    bool monitoring = server->monitoring;
    server->monitoring = false;
    (void)pthread_cond_broadcast(&server->changed);
    (void)pthread_mutex_unlock(&server->mutex);
    if (monitoring) (void)pthread_join(server->monitor, NULL);
}
