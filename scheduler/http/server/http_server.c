#include "scheduler/http/server/http_server.h"

#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/thread.h"
#include "scheduler/http/server/http_server_internal.h"

enum {
    CONNECTIONS_DEFAULT = 4096,
    PER_PEER_DEFAULT = 1024,
    THREADS_DEFAULT = 32,
    HEAD_LIMIT_MS_DEFAULT = 10000,
    BODY_LIMIT_MS_DEFAULT = 30000,
    IDLE_LIMIT_MS_DEFAULT = 60000,
    READ_LIMIT_MS_DEFAULT = 60000,
    ANSWER_PART = 16,       /* of the machine's memory for answers */
    ANSWER_WAIT_MS = 1,     /* short, since clients that do not read give no memory back soon */
    DESCRIPTORS_KEPT = 256, /* for everything but connections */
    CONNECTIONS_MIN = 16,
    CONNECTIONS_LEAVING = 64, /* that were shut down and are not closed yet: http_places.h */
    MEMORY_PER_CONNECTION = 64 << 10, /* so a head is smaller than this */
    MEMORY_INCREMENT = 16 << 10,
    CLOSE_POLL_NS = 2000000,
};

/* GnuTLS' names of TLS 1.2 and 1.3. */
static const char TLS_VERSIONS[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

static void set_default(uint32_t *inout, uint32_t otherwise) {
    if (*inout == 0) *inout = otherwise;
}

/* Reduces the number of connections to the available descriptors. */
static Error *reserve_descriptors(uint32_t *inout_connections) {
    struct rlimit limit;
    rlim_t wanted = (rlim_t)*inout_connections * HTTP_LISTENERS + DESCRIPTORS_KEPT;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) FAIL(IO, "the limit of descriptors is unknown");
    if (limit.rlim_cur < wanted) {
        limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit); /* the limit in force then decides */
        if (getrlimit(RLIMIT_NOFILE, &limit) != 0) FAIL(IO, "the limit of descriptors is unknown");
    }
    if (limit.rlim_cur < wanted) {
        if (limit.rlim_cur < DESCRIPTORS_KEPT + CONNECTIONS_MIN * HTTP_LISTENERS)
            FAIL(EXHAUSTED, "%llu open descriptors are too few for a server",
                (unsigned long long)limit.rlim_cur);
        *inout_connections = (uint32_t)(limit.rlim_cur - DESCRIPTORS_KEPT) / HTTP_LISTENERS;
    }
    return NULL;
}

/* Addresses are decoded once, by route.c. */
static size_t keep_escapes(void *self, struct MHD_Connection *mhd, char *text) {
    (void)self, (void)mhd;
    return strlen(text);
}

static Error *start_listener(HttpServer *server, HttpListener *listener, HttpOrigin origin) {
    const HttpServerOptions *options = &server->options;
    bool tls = origin == HTTP_ORIGIN_TCP && options->tls_certificate;
    /* in the library's type; the library reads them */
    struct MHD_OptionItem security[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)options->tls_certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)options->tls_key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_VERSIONS},
        {MHD_OPTION_END, 0, NULL}};
    if (!tls) security[0].option = MHD_OPTION_END;
    listener->server = server;
    listener->origin = origin;
    listener->daemon =
        microhttpd.start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
                                    MHD_USE_ITC | (tls ? (unsigned)MHD_USE_TLS : 0u),
            0, NULL, NULL, http_exchange_continue, listener, MHD_OPTION_ARRAY, security,
            MHD_OPTION_LISTEN_SOCKET, listener->socket, MHD_OPTION_CONNECTION_LIMIT,
            (unsigned)options->connection_max + CONNECTIONS_LEAVING,
            MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_PER_CONNECTION,
            MHD_OPTION_CONNECTION_MEMORY_INCREMENT, (size_t)MEMORY_INCREMENT,
            MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(options->idle_limit_ms + 999) / 1000,
            MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
            MHD_OPTION_URI_LOG_CALLBACK, http_exchange_begin, listener, MHD_OPTION_NOTIFY_COMPLETED,
            http_exchange_end, listener, MHD_OPTION_NOTIFY_CONNECTION, http_monitor_notice,
            listener, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL, MHD_OPTION_END);
    if (!listener->daemon && tls)
        FAIL(INVALID, "the server does not start: is this a certificate with its key, in PEM?");
    if (!listener->daemon) FAIL(IO, "the HTTP server cannot be started");
    return NULL;
}

static Error *open_listeners(HttpServer *server) {
    const HttpServerOptions *options = &server->options;
    if (!options->socket_path && !options->listen_address)
        FAIL(INVALID, "a server needs a socket or an address");
    if (!options->tls_certificate != !options->tls_key)
        FAIL(INVALID, "a certificate and its key belong together");
    if (options->tls_certificate && microhttpd.is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
        FAIL(UNSUPPORTED, "this libmicrohttpd was built without TLS");
    if (options->listen_address) {
        HttpListener *listener = &server->listeners[HTTP_ORIGIN_TCP];
        TRY(listen_socket_open_tcp(options->listen_address, &listener->socket, server->address));
        TRY(start_listener(server, listener, HTTP_ORIGIN_TCP));
    }
    if (options->socket_path) {
        HttpListener *listener = &server->listeners[HTTP_ORIGIN_UNIX];
        TRY(memory_copy_text(options->socket_path, &server->socket_path));
        TRY(listen_socket_open_unix(options->socket_path, &listener->socket));
        server->socket_inode = listen_socket_inode(options->socket_path);
        TRY(start_listener(server, listener, HTTP_ORIGIN_UNIX));
    }
    return NULL;
}

Error *http_server_open(HttpService *service, const HttpServerOptions *options, HttpServer **out) {
    void *memory;
    TRY(http_libraries_open_microhttpd());
    TRY(memory_alloc(1, sizeof(HttpServer), &memory));
    OWN(HttpServer, server) = memory;
    server->service = service;
    server->options = *options;
    (void)pthread_mutex_init(&server->mutex, NULL);
    thread_condition_init(&server->changed);
    for (size_t i = 0; i < HTTP_LISTENERS; i++) server->listeners[i].socket = -1;
    set_default(&server->options.connection_max, CONNECTIONS_DEFAULT);
    set_default(&server->options.connection_per_peer_max, PER_PEER_DEFAULT);
    set_default(&server->options.handler_threads, THREADS_DEFAULT);
    set_default(&server->options.head_limit_ms, HEAD_LIMIT_MS_DEFAULT);
    set_default(&server->options.body_limit_ms, BODY_LIMIT_MS_DEFAULT);
    set_default(&server->options.idle_limit_ms, IDLE_LIMIT_MS_DEFAULT);
    set_default(&server->options.read_limit_ms, READ_LIMIT_MS_DEFAULT);
    if (!server->options.answer_bytes_max)
        server->options.answer_bytes_max =
            memory_budget_part_of_machine(ANSWER_PART, (uint64_t)256 << 20, (uint64_t)2 << 30);
    TRY(memory_budget_create("answers that are not read", server->options.answer_bytes_max,
        ANSWER_WAIT_MS, &server->answers));
    TRY(reserve_descriptors(&server->options.connection_max));
    TRY(http_gate_install(options->tls_certificate != NULL));
    TRY(http_exchange_declare_metrics(service->metrics));
    TRY(http_workers_open(server->options.handler_threads, &server->workers));
    TRY(http_monitor_start(server));
    TRY(open_listeners(server));
    *out = TAKE(server);
    return NULL;
}

const char *http_server_address(const HttpServer *server) { return server->address; }

/* Ends streams and lets running handlers send their answers; after that no connection is suspended,
 * as libmicrohttpd requires before it is stopped. */
static void settle(HttpServer *server) {
    static const struct timespec pause = {.tv_nsec = CLOSE_POLL_NS};
    for (bool settled = false; !settled;) {
        (void)pthread_mutex_lock(&server->mutex);
        for (HttpConnection *at = server->connections; at; at = at->next)
            if (at->exchange) http_stream_cut(at->exchange);
        (void)pthread_mutex_unlock(&server->mutex);
        settled = atomic_load(&server->suspended) == 0;
        if (!settled) (void)nanosleep(&pause, NULL);
    }
}

void http_server_close(HttpServer *server) {
    if (!server) return;
    atomic_store(&server->closing, true);
    for (size_t i = 0; i < HTTP_LISTENERS; i++)
        if (server->listeners[i].daemon)
            (void)microhttpd.quiesce_daemon(server->listeners[i].daemon);
    settle(server);
    for (size_t i = 0; i < HTTP_LISTENERS; i++) {
        if (server->listeners[i].daemon) microhttpd.stop_daemon(server->listeners[i].daemon);
        if (server->listeners[i].socket >= 0) (void)close(server->listeners[i].socket);
    }
    http_monitor_stop(server);
    http_workers_close(server->workers);
    memory_budget_release(server->answers);
    if (server->socket_path) listen_socket_remove(server->socket_path, server->socket_inode);
    memory_free(server->socket_path);
    (void)pthread_cond_destroy(&server->changed);
    (void)pthread_mutex_destroy(&server->mutex);
    memory_free(server);
}
