#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "scheduler/http/server/http_server_internal.h"

enum {
    DISCARD_MAX = 1 << 20,  /* of a refused body that still comes; then the connection is cut */
    BODY_BYTES_PER_MS = 64, /* a body that comes more slowly than this is cut */
    STREAM_BLOCK_SIZE = 64 << 10,
    ANSWERS_MIN = 32 << 20, /* a tenant may always have so much of it, whatever its quota */
    ANSWER_SHARE = 4,       /* of all memory for answers a tenant may have one part of so many */
};

/* The rows of METRIC_HTTP_REQUESTS: three classes of status for each route, and for no route. */
enum { STATUS_CLASSES = 3 };
static const char *const request_rows[] = {
#define ROWS(route)                                                                                \
    "route=\"" route "\",status=\"2xx\"", "route=\"" route "\",status=\"4xx\"",                    \
        "route=\"" route "\",status=\"5xx\"",
#define ROUTE(name, method, pattern, role, body, limit, pace, handler, help)                       \
    ROWS(#method " " pattern)
#include "scheduler/http/server/routes.def"
    ROWS("none")
#undef ROWS
};

Error *http_exchange_declare_metrics(Metrics *metrics) {
    return metrics_set_rows(
        metrics, METRIC_HTTP_REQUESTS, request_rows, sizeof request_rows / sizeof *request_rows);
}

static void count_answer(const HttpExchange *exchange, int status) {
    Metrics *metrics = exchange->connection->server->service->metrics;
    size_t route = exchange->request.route ? exchange->request.match.route : ROUTE_COUNT;
    size_t class_ = status < 400 ? 0 : status < 500 ? 1 : 2;
    metrics_add(metrics, METRIC_HTTP_REQUESTS, route * STATUS_CLASSES + class_, 1);
    if (exchange->run_start_ns)
        metrics_observe_ns(
            metrics, METRIC_HTTP_SECONDS, clock_now_ns(clock_real()) - exchange->run_start_ns);
}

void *http_exchange_begin(void *self, const char *uri, struct MHD_Connection *mhd) {
    HttpConnection *connection =
        microhttpd.get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    void *memory;
    (void)self;
    if (!connection) return NULL;
    Error *error = memory_alloc(1, sizeof(HttpExchange), &memory);
    if (error) {
        error_free(error); /* the request is refused: see http_exchange_continue */
        return NULL;
    }
    HttpExchange *exchange = memory;
    exchange->connection = connection;
    exchange->index = ++connection->requests;
    exchange->mhd = mhd;
    exchange->error = memory_copy_text(uri, &exchange->target);
    http_response_init(&exchange->response);
    const HttpService *service = connection->server->service;
    http_body_init(&exchange->body, service->store, service->upload_folder, 0);
    (void)pthread_mutex_init(&exchange->mutex, NULL);
    (void)pthread_mutex_lock(&connection->server->mutex);
    connection->exchange = exchange;
    (void)pthread_mutex_unlock(&connection->server->mutex);
    return exchange;
}

void http_exchange_end(
    void *self, struct MHD_Connection *mhd, void **request, enum MHD_RequestTerminationCode code) {
    HttpExchange *exchange = *request;
    (void)self, (void)mhd, (void)code;
    if (!exchange) return;
    HttpServer *server = exchange->connection->server;
    (void)pthread_mutex_lock(&server->mutex);
    exchange->connection->exchange = NULL;
    (void)pthread_mutex_unlock(&server->mutex);
    http_connection_limit(exchange->connection, server->options.idle_limit_ms);
    if (exchange->started) metrics_add(server->service->metrics, METRIC_HTTP_STREAMS, 0, -1);
    http_response_deinit(&exchange->response);
    http_body_deinit(&exchange->body);
    http_request_deinit(&exchange->request);
    byte_writer_deinit(&exchange->buffer);
    memory_charge_end(&exchange->held);
    memory_charge_end(&exchange->buffered);
    error_free(exchange->error);
    memory_free(exchange->target);
    memory_free(exchange->authorization);
    (void)pthread_mutex_destroy(&exchange->mutex);
    memory_free(exchange);
    *request = NULL;
}

ssize_t http_body_piece(void *self, uint64_t position, char *out, size_t size) {
    HttpExchange *exchange = self;
    const HttpResponse *response = &exchange->response;
    http_connection_limit(
        exchange->connection, exchange->connection->server->options.read_limit_ms);
    if (response->kind == HTTP_BODY_FILE) {
        ssize_t got = pread(response->descriptor, out, size, (off_t)position);
        return got > 0 ? got : MHD_CONTENT_READER_END_WITH_ERROR;
    }
    const bool constant = response->kind == HTTP_BODY_CONSTANT;
    const size_t left =
        (constant ? response->constant_size : response->text.size) - (size_t)position;
    const char *bytes = constant ? response->constant : text_builder_get(&response->text);
    if (left < size) size = left;
    memcpy(out, bytes + position, size);
    return (ssize_t)size;
}

/* Makes the body of an answer in libmicrohttpd's form; NULL without memory. The objects behind it
 * stay until the exchange ends, which is after the last byte. */
static struct MHD_Response *make_body(HttpExchange *exchange) {
    HttpResponse *response = &exchange->response;
    struct stat status;
    switch (response->kind) {
    case HTTP_BODY_TEXT:
        if (response->text.size <= HTTP_SMALL_ANSWER)
            return microhttpd.create_response_from_buffer(response->text.size,
                (void *)(uintptr_t)text_builder_get(&response->text), MHD_RESPMEM_PERSISTENT);
        return microhttpd.create_response_from_callback(
            response->text.size, STREAM_BLOCK_SIZE, http_body_piece, exchange, NULL);
    case HTTP_BODY_CONSTANT:
        return microhttpd.create_response_from_callback(
            response->constant_size, STREAM_BLOCK_SIZE, http_body_piece, exchange, NULL);
    case HTTP_BODY_FILE:
        if (fstat(response->descriptor, &status) != 0) return NULL;
        return microhttpd.create_response_from_callback(
            (uint64_t)status.st_size, STREAM_BLOCK_SIZE, http_body_piece, exchange, NULL);
    case HTTP_BODY_STREAM:
        return microhttpd.create_response_from_callback(
            MHD_SIZE_UNKNOWN, STREAM_BLOCK_SIZE, http_stream_read, exchange, NULL);
    }
    return NULL;
}

static const char *header(struct MHD_Connection *mhd, const char *name) {
    return microhttpd.lookup_connection_value(mhd, MHD_HEADER_KIND, name);
}

/* Finds the memory that the caller's tenant may hold: its quota, but one answer in any case. */
static Error *find_share(const HttpExchange *exchange, uint64_t bytes, uint64_t *out_share) {
    const HttpServer *server = exchange->connection->server;
    const Accounts *accounts = &server->service->accounts;
    const TenantId tenant = exchange->request.caller.tenant;
    const uint64_t most = server->options.answer_bytes_max / ANSWER_SHARE;
    uint64_t share = UINT64_MAX;
    if (tenant) TRY(accounts->class_->host_bytes(accounts->self, tenant, &share));
    if (share < ANSWERS_MIN) share = ANSWERS_MIN;
    if (share < bytes) share = bytes;
    *out_share = share < most ? share : most;
    return NULL;
}

Error *http_exchange_charge(HttpExchange *exchange, uint64_t bytes, MemoryCharge *inout_charge) {
    const HttpServer *server = exchange->connection->server;
    uint64_t share;
    memory_charge_end(inout_charge);
    TRY(find_share(exchange, bytes, &share));
    return memory_budget_take(
        server->answers, (TenantId)exchange->task.tenant, share, bytes, inout_charge);
}

enum MHD_Result http_exchange_send(HttpExchange *exchange) {
    HttpResponse *response = &exchange->response;
    int status = response->status ? response->status : 200;
    struct MHD_Response *body = make_body(exchange);
    if (!body) return MHD_NO;
    enum MHD_Result done =
        microhttpd.add_response_header(body, MHD_HTTP_HEADER_CONTENT_TYPE, response->content_type);
    if (done)
        done = microhttpd.add_response_header(body, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    if (done) /* no browser takes an answer for something else than its type says */
        done = microhttpd.add_response_header(body, "X-Content-Type-Options", "nosniff");
    if (done && status == 401)
        done = microhttpd.add_response_header(body, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    if (done && exchange->ambiguous)
        done = microhttpd.add_response_header(body, MHD_HTTP_HEADER_CONNECTION, "close");
    for (uint32_t i = 0; done && i < response->header_count; i++)
        done = microhttpd.add_response_header(
            body, response->headers[i].name, response->headers[i].value);
    if (response->kind != HTTP_BODY_STREAM)
        http_connection_limit(
            exchange->connection, exchange->connection->server->options.read_limit_ms);
    if (done && response->kind == HTTP_BODY_STREAM) http_stream_start(exchange);
    exchange->sent = true;
    if (done) done = microhttpd.queue_response(exchange->mhd, (unsigned)status, body);
    microhttpd.destroy_response(body);
    if (done) count_answer(exchange, status);
    return done;
}

static bool is_refused(const HttpExchange *exchange) {
    return exchange->connection->gate.framing.refused_head == exchange->index;
}

static enum MHD_Result send_error(HttpExchange *exchange) {
    http_response_error(&exchange->response, exchange->error);
    exchange->error = NULL;
    if (is_refused(exchange)) exchange->response.status = exchange->connection->gate.framing.status;
    return http_exchange_send(exchange);
}

/* Counts of headers that must occur once, or of the two that give the body's length: if a proxy and
 * this server read different ones, a body for one is a request for the other. RFC 9112, section
 * 6.3, and RFC 9110, sections 8.6 and 11.6.2. */
typedef struct HeadCounts {
    uint32_t lengths, encodings, authorizations, json_lengths;
} HeadCounts;

static enum MHD_Result count_header(
    void *context, enum MHD_ValueKind kind, const char *name, const char *value) {
    HeadCounts *counts = context;
    (void)kind, (void)value;
    counts->lengths += strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0;
    counts->encodings += strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0;
    counts->authorizations += strcasecmp(name, MHD_HTTP_HEADER_AUTHORIZATION) == 0;
    counts->json_lengths += strcasecmp(name, HTTP_JSON_LENGTH) == 0;
    return MHD_YES;
}

static Error *check_once(HttpExchange *exchange) {
    HeadCounts counts = {0};
    (void)microhttpd.get_connection_values(exchange->mhd, MHD_HEADER_KIND, count_header, &counts);
    exchange->ambiguous = counts.lengths + counts.encodings > 1 || counts.authorizations > 1;
    if (counts.json_lengths > 1) FAIL(INVALID, HTTP_JSON_LENGTH " is there twice");
    if (counts.authorizations > 1) FAIL(INVALID, "Authorization is there twice");
    if (exchange->ambiguous)
        FAIL(INVALID, "Content-Length and Transfer-Encoding: one of them, once");
    return NULL;
}

/* The head is there. */
static Error *open_exchange(HttpExchange *exchange, const char *method) {
    HttpServer *server = exchange->connection->server;
    const char *length = header(exchange->mhd, MHD_HTTP_HEADER_CONTENT_LENGTH);
    exchange->body_start_ns = clock_now_ns(clock_real());
    http_connection_limit(exchange->connection, server->options.body_limit_ms);
    HttpHead head = {
        .origin = exchange->connection->origin,
        .method = method,
        .target = exchange->target,
        .authorization = header(exchange->mhd, MHD_HTTP_HEADER_AUTHORIZATION),
        .content_type = header(exchange->mhd, MHD_HTTP_HEADER_CONTENT_TYPE),
        .content_encoding = header(exchange->mhd, MHD_HTTP_HEADER_CONTENT_ENCODING),
        .json_length = header(exchange->mhd, HTTP_JSON_LENGTH),
        .host = header(exchange->mhd, MHD_HTTP_HEADER_HOST),
        .cookie = header(exchange->mhd, MHD_HTTP_HEADER_COOKIE),
        .page_origin = header(exchange->mhd, MHD_HTTP_HEADER_ORIGIN),
        .fetch_site = header(exchange->mhd, "Sec-Fetch-Site"),
        .tls = exchange->connection->origin == HTTP_ORIGIN_TCP && server->options.tls_certificate,
        .has_length = length != NULL,
    };
    exchange->ambiguous = is_refused(exchange);
    if (exchange->ambiguous) FAIL(INVALID, "%s", exchange->connection->gate.framing.why);
    if (atomic_load(&server->closing)) FAIL(UNREACHABLE, "the daemon is stopping");
    TRY(check_once(exchange));
    if (length && !text_parse_u64(length, &head.content_length))
        FAIL(INVALID, "Content-Length is no number");
    if (head.authorization) TRY(memory_copy_text(head.authorization, &exchange->authorization));
    TRY(http_service_open(server->service, &head, &exchange->request));
    if (exchange->request.caller.token) http_connection_trust(exchange->connection);
    http_body_open(&exchange->body, &exchange->request);
    return NULL;
}

/* Whether the client reads an answer that comes before its body: the client waits for leave to send
 * it, or sends so much that the connection is cut. Other clients may find the connection closed
 * while they send, and never look for an answer. */
static bool reads_at_once(HttpExchange *exchange) {
    const char *length = header(exchange->mhd, MHD_HTTP_HEADER_CONTENT_LENGTH);
    uint64_t size;
    if (exchange->ambiguous || header(exchange->mhd, MHD_HTTP_HEADER_EXPECT)) return true;
    return length && (!text_parse_u64(length, &size) || size > DISCARD_MAX);
}

/* A piece of the body. One that is refused is read on for a while, so that the client comes to read
 * the answer. */
static enum MHD_Result take_body(HttpExchange *exchange, const char *data, size_t *inout_size) {
    const HttpServerOptions *options = &exchange->connection->server->options;
    if (!exchange->error) exchange->error = http_body_add(&exchange->body, data, *inout_size);
    if (exchange->error) exchange->discarded += *inout_size;
    if (exchange->discarded > DISCARD_MAX) return MHD_NO;
    *inout_size = 0;
    uint64_t allowed_ms = options->body_limit_ms + exchange->body.size / BODY_BYTES_PER_MS;
    uint64_t used_ms = (clock_now_ns(clock_real()) - exchange->body_start_ns) / 1000000;
    http_connection_limit(exchange->connection, allowed_ms > used_ms ? allowed_ms - used_ms : 1);
    return MHD_YES;
}

enum MHD_Result http_exchange_continue(void *self, struct MHD_Connection *mhd, const char *url,
    const char *method, const char *version, const char *upload_data, size_t *upload_data_size,
    void **request) {
    HttpExchange *exchange = *request;
    (void)self, (void)mhd, (void)url, (void)version;
    /* a libmicrohttpd daemon that stops drops the answer and asks again */
    if (!exchange || exchange->sent) return MHD_NO;
    if (!exchange->opened) {
        exchange->opened = true;
        if (!exchange->error) exchange->error = open_exchange(exchange, method);
        return exchange->error && reads_at_once(exchange) ? send_error(exchange) : MHD_YES;
    }
    if (*upload_data_size) return take_body(exchange, upload_data, upload_data_size);
    if (atomic_load(&exchange->answered)) return http_exchange_send(exchange);
    http_connection_limit(exchange->connection, 0);
    if (!exchange->error) exchange->error = http_body_finish(&exchange->body, &exchange->request);
    return exchange->error ? send_error(exchange) : http_handling_start(exchange);
}
