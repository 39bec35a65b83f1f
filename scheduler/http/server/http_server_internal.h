#pragma once
/* Connections with their deadlines, and exchanges, as the files of the server share them. Members
 * of an exchange belong to the thread that works on it; others are guarded as said below.
 *
 * Locks, in the order in which they are taken: the server's mutex, an exchange's mutex. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "scheduler/http/server/http_body.h"
#include "scheduler/http/server/http_briefs.h"
#include "scheduler/http/server/http_gate.h"
#include "scheduler/http/client/http_libraries.h"
#include "scheduler/http/server/http_server.h"
#include "scheduler/http/server/http_workers.h"
#include "scheduler/http/server/listen_socket.h"
#include "scheduler/node/memory_budget.h"

/* A wait of an exchange. The thread that begins the wait owns the exchange while it is STARTING,
 * and goes on with it where the wake comes meanwhile; later the exchange is the waking thread's. */
typedef enum HttpWaitState { HTTP_WAIT_STARTING, HTTP_WAIT_STARTED, HTTP_WAIT_WOKEN } HttpWaitState;

/* One request and its answer, from the request's first line to the answer's last byte. */
typedef struct HttpExchange {
    HttpTask task; /* first: runs the handler, then the stream's pulls */
    struct HttpConnection *connection;
    struct MHD_Connection *mhd;
    char *target;
    HttpRequest request;
    HttpResponse response;
    HttpBody body;
    Error *error;       /* in the head or the body; answered when the body is complete */
    uint64_t discarded; /* bytes of a refused body that were dropped */
    uint64_t body_start_ns, run_start_ns;
    bool opened;         /* the head has been examined */
    bool ambiguous;      /* the request can be read in two ways: no byte after it is read */
    uint64_t brief_key;  /* http_briefs.h */
    uint64_t work_ns;    /* the work for the answer so far */
    bool waits_for_room; /* a brief handler would have had to wait */
    atomic_int wait_state;
    uint64_t index; /* of its connection's requests, from 1 */
    bool sent;      /* the answer was given to libmicrohttpd */
    atomic_bool answered;
    char *authorization; /* checked again before each step; NULL: the request had no token */
    /* For a stream, but for cuttable; all of them are guarded by the mutex. */
    pthread_mutex_t mutex;
    ByteWriter buffer;
    size_t buffer_at;
    bool cuttable; /* a wait is under way that wants to know if the client goes */
    bool waiting;  /* suspended, because the buffer is empty */
    bool pulling;  /* a task is posted or runs */
    bool woken;    /* a wake came since the last pull began */
    bool started, ended, failed;
    MemoryCharge held;     /* the answer's memory until its end */
    MemoryCharge buffered; /* the buffer */
} HttpExchange;

typedef struct HttpConnection {
    struct HttpServer *server;
    struct HttpConnection *previous, *next;
    HttpOrigin origin;
    uint8_t peer[16]; /* its address; of IPv6 the network's 64 bits. Zeros: a unix socket */
    bool trusted;     /* has shown a valid token, or is of the unix socket */
    bool leaving;     /* was shut down */
    int descriptor;
    uint64_t deadline_ns;   /* the connection is cut then; 0: never */
    HttpExchange *exchange; /* NULL: between two requests */
    uint64_t requests;      /* that have begun */
    HttpGate gate;
} HttpConnection;

typedef struct HttpListener {
    struct HttpServer *server;
    HttpOrigin origin;
    int socket; /* -1: none */
    struct MHD_Daemon *daemon;
} HttpListener;

enum {
    HTTP_LISTENERS = 2,
    HTTP_SMALL_ANSWER = 16 << 10, /* bytes; smaller answers are sent without a charge */
};

struct HttpServer {
    HttpService *service;
    HttpServerOptions options; /* with the defaults filled in */
    HttpListener listeners[HTTP_LISTENERS];
    char *socket_path;
    uint64_t socket_inode;
    char address[LISTEN_ADDRESS_SIZE];
    HttpWorkers *workers;
    HttpBriefs briefs;
    MemoryBudget *answers; /* memory of answers that have not been read */
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* closing, or fewer suspended */
    HttpConnection *connections;
    _Atomic uint32_t suspended; /* exchanges */
    atomic_bool closing;
    bool monitoring;
    pthread_t monitor;
};

/* Rows of METRIC_HTTP_REQUESTS. */
MUST_CHECK Error *http_exchange_declare_metrics(Metrics *metrics);

/* libmicrohttpd's callbacks. self: a listener. */
void *http_exchange_begin(void *self, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result http_exchange_continue(void *self, struct MHD_Connection *mhd, const char *url,
    const char *method, const char *version, const char *upload_data, size_t *upload_data_size,
    void **request);
void http_exchange_end(
    void *self, struct MHD_Connection *mhd, void **request, enum MHD_RequestTerminationCode code);

/* Gives an answer to libmicrohttpd. On the thread that moves the connection's bytes. */
enum MHD_Result http_exchange_send(HttpExchange *exchange);

/* Answers a request whose body is complete: on this thread, if the request is instant or brief, or
 * else on a handler thread, while the connection is suspended. http_handling.c, as is the next. */
enum MHD_Result http_handling_start(HttpExchange *exchange);

/* Checks the token again, which may have been revoked while the body came, the task waited or the
 * client read. Errors: UNAUTHENTICATED. */
MUST_CHECK Error *http_exchange_check_caller(HttpExchange *exchange);

/* Notes that the connection has shown a valid token. */
void http_connection_trust(HttpConnection *connection);

/* Charges an answer's memory to the caller. bytes: the new total; the earlier charge is given back
 * on success and on failure. Errors: EXHAUSTED too much memory of the caller's answers waits to be
 * read. */
MUST_CHECK Error *http_exchange_charge(
    HttpExchange *exchange, uint64_t bytes, MemoryCharge *inout_charge);

/* Copies a piece of a body that is in memory or in a file. */
ssize_t http_body_piece(void *self, uint64_t position, char *out, size_t size);
/* Copies a piece of a stream's body. */
ssize_t http_stream_read(void *self, uint64_t position, char *out, size_t size);
void http_stream_start(HttpExchange *exchange);
/* Called when the client has gone while its answer waits for an event. */
void http_exchange_cut(HttpExchange *exchange);
/* Called when no client reads the stream any more, or the server closes. */
void http_stream_cut(HttpExchange *exchange);

/* Suspends the connection, from within one of its callbacks (false: the server closes); resumes it,
 * from any thread. */
bool http_exchange_suspend(HttpExchange *exchange);
void http_exchange_resume(HttpExchange *exchange);

/* Sets a connection's deadline; limit_ms 0: none. */
void http_connection_limit(HttpConnection *connection, uint64_t limit_ms);

/* The monitor thread cuts connections beyond their deadlines and streams whose clients are gone. */
MUST_CHECK Error *http_monitor_start(HttpServer *server);
void http_monitor_stop(HttpServer *server);
/* libmicrohttpd's NOTIFY_CONNECTION callback. */
void http_monitor_notice(void *self, struct MHD_Connection *mhd, void **socket_context,
    enum MHD_ConnectionNotificationCode code);
