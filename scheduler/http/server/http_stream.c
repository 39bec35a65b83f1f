#include <string.h>

#include "scheduler/http/server/http_server_internal.h"

enum { SMALL_BUFFER = 4 << 10 }; /* a smaller buffer is kept without a charge */

/* Gives a waiting stream's connection back to the thread that serves it. Under the mutex. */
static void stop_waiting(HttpExchange *exchange) {
    if (!exchange->waiting) return;
    exchange->waiting = false;
    http_exchange_resume(exchange);
}

static void post_pull(HttpExchange *exchange) {
    exchange->pulling = true;
    exchange->task.lane = HTTP_LANE_QUICK;
    http_workers_post(exchange->connection->server->workers, &exchange->task);
}

static void wake(void *self) {
    HttpExchange *exchange = self;
    (void)pthread_mutex_lock(&exchange->mutex);
    exchange->woken = true;
    if (exchange->waiting && !exchange->pulling && !exchange->ended) post_pull(exchange);
    (void)pthread_mutex_unlock(&exchange->mutex);
}

/* Memory that one pull made; watchers that wait have none. */
static Error *charge_buffer(HttpExchange *exchange) {
    const uint64_t bytes = exchange->buffer.capacity;
    if (bytes <= SMALL_BUFFER || exchange->buffered.bytes == bytes) return NULL;
    if (exchange->held.bytes > 0) return NULL; /* charged with the rest of the answer */
    return http_exchange_charge(exchange, bytes, &exchange->buffered);
}

/* Called when all bytes of the buffer were taken. */
static void empty_buffer(HttpExchange *exchange) {
    exchange->buffer_at = exchange->buffer.size = 0;
    if (exchange->buffer.capacity <= SMALL_BUFFER) return;
    byte_writer_deinit(&exchange->buffer);
    exchange->buffer = (ByteWriter){0};
    memory_charge_end(&exchange->buffered);
}

/* One pull in a handler thread. Meanwhile the connection is suspended, so the buffer belongs to
 * this thread. */
static void pull(HttpTask *task) {
    HttpExchange *exchange = (HttpExchange *)task;
    HttpStream *stream = &exchange->response.stream;
    HttpStreamState state = HTTP_STREAM_MORE;
    (void)pthread_mutex_lock(&exchange->mutex);
    while (!exchange->ended && exchange->buffer.size == 0 &&
           (state == HTTP_STREAM_MORE || exchange->woken)) {
        exchange->woken = false;
        (void)pthread_mutex_unlock(&exchange->mutex);
        Error *error = http_exchange_check_caller(exchange); /* whose token may have been revoked */
        if (!error) error = stream->pull(stream->self, &exchange->buffer, &state);
        if (!error) error = byte_writer_check(&exchange->buffer);
        if (!error) error = charge_buffer(exchange);
        (void)pthread_mutex_lock(&exchange->mutex);
        if (error) exchange->failed = true;
        if (error || state == HTTP_STREAM_END) exchange->ended = true;
        error_free(error); /* the connection is cut: the client can be told nothing else */
    }
    exchange->pulling = false;
    exchange->woken = exchange->woken || state == HTTP_STREAM_MORE;
    if (exchange->ended || exchange->buffer.size) stop_waiting(exchange);
    (void)pthread_mutex_unlock(&exchange->mutex);
}

ssize_t http_stream_read(void *self, uint64_t position, char *out, size_t size) {
    HttpExchange *exchange = self;
    HttpConnection *connection = exchange->connection;
    ssize_t result = 0;
    (void)position;
    (void)pthread_mutex_lock(&exchange->mutex);
    size_t left = exchange->buffer.size - exchange->buffer_at;
    if (exchange->failed)
        result = MHD_CONTENT_READER_END_WITH_ERROR;
    else if (left) {
        result = (ssize_t)(left < size ? left : size);
        memcpy(out, exchange->buffer.data + exchange->buffer_at, (size_t)result);
        exchange->buffer_at += (size_t)result;
    } else if (exchange->ended)
        result = MHD_CONTENT_READER_END_OF_STREAM;
    if (exchange->buffer_at == exchange->buffer.size) empty_buffer(exchange);
    if (result == 0 && !http_exchange_suspend(exchange)) result = MHD_CONTENT_READER_END_WITH_ERROR;
    if (result == 0) {
        exchange->waiting = true;
        if (exchange->woken) post_pull(exchange);
    }
    (void)pthread_mutex_unlock(&exchange->mutex);
    /* a stream that waits has sent everything */
    http_connection_limit(connection, result == 0 ? 0 : connection->server->options.read_limit_ms);
    return result;
}

void http_stream_start(HttpExchange *exchange) {
    HttpStream *stream = &exchange->response.stream;
    exchange->task.run = pull;
    exchange->started = exchange->woken = true;
    metrics_add(exchange->connection->server->service->metrics, METRIC_HTTP_STREAMS, 0, 1);
    if (stream->start) stream->start(stream->self, (HttpWaker){.wake = wake, .self = exchange});
}

void http_stream_cut(HttpExchange *exchange) {
    (void)pthread_mutex_lock(&exchange->mutex);
    if (exchange->started) {
        exchange->ended = exchange->failed = true;
        if (!exchange->pulling) stop_waiting(exchange);
    }
    (void)pthread_mutex_unlock(&exchange->mutex);
}
