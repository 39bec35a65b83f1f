#pragma once
/* The daemon's HTTP server, on a unix socket, on TCP, or on both. Opened and closed by daemon.c.
 *
 * One thread for each listening socket moves bytes (epoll, through libmicrohttpd); a fixed number
 * of threads runs handlers, while the connection is suspended. So an idle connection or a watcher
 * costs memory and a descriptor, never a thread, and a body is complete before a thread is spent on
 * it. A thread for each connection would fail with a thousand idle clients; a plain pool of
 * libmicrohttpd's would let one blocking handler stop the clients that share its thread. */
#include <stdint.h>

#include "scheduler/http/server/http_service.h"

typedef struct HttpServerOptions {
    const char *socket_path;    /* NULL: none */
    const char *listen_address; /* HOST:PORT; NULL: none */
    /* PEM, for TCP: the chain of certificates and its key; both, or NULL for no TLS. Borrowed as
     * long as the server is open. */
    const char *tls_certificate, *tls_key;
    uint32_t connection_max;          /* upper bound for each of the two sockets; 0: 4096, or what
                                       * descriptors allow */
    uint32_t connection_per_peer_max; /* upper bound without a valid token, for one IP address;
                                       * 0: 1024 */
    uint32_t handler_threads;         /* 0: 32 */
    uint32_t head_limit_ms;           /* for the whole head of a request; 0: 10 s */
    uint32_t body_limit_ms;           /* for a body, beside one second for every 64 KiB; 0: 30 s */
    uint32_t idle_limit_ms;           /* between requests, or without a byte moving; 0: 60 s */
    uint32_t read_limit_ms;           /* for every 64 KiB of an answer to be read; 0: 60 s */
    uint64_t answer_bytes_max;        /* memory for answers; 0: a 16th of the machine's. A tenant
                                       * may have a quarter of it */
} HttpServerOptions;

typedef struct HttpServer HttpServer;

/* Opens the server. Raises the process's limit of open descriptors as connection_max needs, if
 * allowed. Errors: as listen_socket.h; INVALID neither socket nor address, or no certificate with
 * its key; IO. */
MUST_CHECK Error *http_server_open(
    HttpService *service, const HttpServerOptions *options, HttpServer **out);
/* Ends streams, waits for running handlers, cuts all connections, removes the socket file. */
void http_server_close(HttpServer *server);
DEFINE_OWN(HttpServer, http_server_close);

/* HOST:PORT with the port in use; "" without TCP. */
const char *http_server_address(const HttpServer *server);
