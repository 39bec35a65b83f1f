#include "base/allocator.h"
#include "base/clock.h"
#include "scheduler/http/server/http_server_internal.h"

/* Runs handlers. A request goes to a handler thread, and its connection is suspended meanwhile; or
 * it is brief, and is answered on the thread that moves bytes:
 *
 *   handler -> wait: start, help -> woken? finish -> answer
 *      |                               | not yet: suspended, and finished by a handler thread
 *      +--- would wait, large answer --+
 */

static const char RETRY_AFTER_S[] = "1";

/* Counts a suspension before it checks closing: either the closer sees the count, or this thread
 * sees the closer. */
static bool count_suspended(HttpServer *server) {
    (void)atomic_fetch_add(&server->suspended, 1);
    if (!atomic_load(&server->closing)) return true;
    (void)atomic_fetch_sub(&server->suspended, 1);
    return false;
}

bool http_exchange_suspend(HttpExchange *exchange) {
    if (!count_suspended(exchange->connection->server)) return false;
    microhttpd.suspend_connection(exchange->mhd);
    return true;
}

void http_exchange_resume(HttpExchange *exchange) {
    HttpServer *server = exchange->connection->server;
    microhttpd.resume_connection(exchange->mhd);
    (void)atomic_fetch_sub(&server->suspended, 1);
}

/* The memory that an answer needs until it is read. */
static uint64_t answer_bytes(const HttpExchange *exchange) {
    const HttpResponse *response = &exchange->response;
    return response->kind == HTTP_BODY_STREAM ? response->stream.held
           : response->kind == HTTP_BODY_TEXT ? response->text.size
                                              : 0;
}

/* Charges the memory of an answer until it is read; the status is not sent yet. */
static void charge_answer(HttpExchange *exchange) {
    HttpResponse *response = &exchange->response;
    const uint64_t bytes = answer_bytes(exchange);
    if (bytes <= HTTP_SMALL_ANSWER) return;
    Error *error = http_exchange_charge(exchange, bytes, &exchange->held);
    if (!error) return;
    http_response_error(response, error);
    http_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, RETRY_AFTER_S);
}

Error *http_exchange_check_caller(HttpExchange *exchange) {
    const HttpConnection *connection = exchange->connection;
    const RouteInfo *route = exchange->request.route;
    const bool shown = exchange->authorization || exchange->request.caller.session;
    if (!shown || route->role == ROUTE_ROLE_ANYONE) return NULL;
    return http_service_still_may(
        connection->server->service, exchange->authorization, &exchange->request.caller);
}

static void run_handler(HttpExchange *exchange) {
    const uint64_t begin_ns = clock_now_ns(clock_real());
    Error *error = http_exchange_check_caller(exchange);
    if (!error)
        error = http_service_answer(
            exchange->connection->server->service, &exchange->request, &exchange->response);
    exchange->work_ns += clock_now_ns(clock_real()) - begin_ns;
    exchange->waits_for_room = exchange->request.brief && error_code(error) == ERROR_EXHAUSTED;
    if (exchange->waits_for_room) { /* the handler is called again */
        error_free(error);
        return;
    }
    if (error) http_response_error(&exchange->response, error);
    http_body_deinit(&exchange->body); /* a client that has its answer never finds its temporary
                                        * file still there */
}

/* The end of a wait; from any thread. A thread that still begins the wait goes on with it. */
static void wake(void *self) {
    HttpExchange *exchange = self;
    if (atomic_exchange(&exchange->wait_state, HTTP_WAIT_WOKEN) == HTTP_WAIT_STARTED)
        http_workers_post(exchange->connection->server->workers, &exchange->task);
}

static void end_cuttable(HttpExchange *exchange) {
    (void)pthread_mutex_lock(&exchange->mutex);
    exchange->cuttable = false;
    (void)pthread_mutex_unlock(&exchange->mutex);
}

/* Under the exchange's mutex, so that the wait is not closed meanwhile. */
void http_exchange_cut(HttpExchange *exchange) {
    (void)pthread_mutex_lock(&exchange->mutex);
    if (exchange->cuttable) exchange->response.wait.cut(exchange->response.wait.self);
    exchange->cuttable = false;
    (void)pthread_mutex_unlock(&exchange->mutex);
}

static void finish_wait(HttpExchange *exchange) {
    HttpResponse *response = &exchange->response;
    if (response->wait.cut) end_cuttable(exchange);
    const uint64_t begin_ns = clock_now_ns(clock_real());
    const HttpWait wait = response->wait;
    response->wait = (HttpWait){0};
    Error *error = http_exchange_check_caller(exchange);
    if (!error) error = wait.finish(wait.self, response);
    if (error) http_response_error(response, error);
    wait.close(wait.self);
    exchange->work_ns += clock_now_ns(clock_real()) - begin_ns + response->elsewhere_ns;
}

static void run_waited(HttpTask *task);

/* Begins a wait and lends it this thread. A wait that can be cut is begun under the mutex, so that
 * it is cut after that. */
static void begin_wait(HttpExchange *exchange) {
    const HttpWait wait = exchange->response.wait;
    exchange->task.run = run_waited;
    atomic_store(&exchange->wait_state, HTTP_WAIT_STARTING);
    if (wait.cut) {
        (void)pthread_mutex_lock(&exchange->mutex);
        exchange->cuttable = true;
    }
    wait.start(wait.self, (HttpWaker){.wake = wake, .self = exchange});
    if (wait.cut) (void)pthread_mutex_unlock(&exchange->mutex);
    if (wait.help) wait.help(wait.self, exchange->request.brief);
}

/* Returns true if the wake has come. Otherwise the exchange is the waking thread's. */
static bool was_woken(HttpExchange *exchange) {
    int expected = HTTP_WAIT_STARTING;
    return !atomic_compare_exchange_strong(&exchange->wait_state, &expected, HTTP_WAIT_STARTED);
}

/* Called on a handler thread; the connection is suspended. */
static void answer_or_wait(HttpExchange *exchange) {
    while (exchange->response.wait.start) {
        begin_wait(exchange);
        if (!was_woken(exchange)) return;
        finish_wait(exchange);
    }
    charge_answer(exchange);
    if (exchange->brief_key)
        http_briefs_note(
            &exchange->connection->server->briefs, exchange->brief_key, exchange->work_ns);
    /* no other code looks after a suspended connection */
    atomic_store(&exchange->answered, true);
    http_exchange_resume(exchange);
}

static void run_waited(HttpTask *task) {
    HttpExchange *exchange = (HttpExchange *)task;
    finish_wait(exchange);
    answer_or_wait(exchange);
}

static void run_rest(HttpTask *task) { answer_or_wait((HttpExchange *)task); }

static void run_task(HttpTask *task) {
    HttpExchange *exchange = (HttpExchange *)task;
    run_handler(exchange);
    answer_or_wait(exchange);
}

/* The share of the handler threads that a request takes: its tenant's, or its node's. */
static uint64_t share_of(const Caller *caller) {
    return caller->tenant ? (uint64_t)caller->tenant : caller->node;
}

static enum MHD_Result post_handler(HttpExchange *exchange) {
    exchange->task.run = run_task;
    if (!http_exchange_suspend(exchange)) return MHD_NO;
    Error *error = http_workers_offer(exchange->connection->server->workers, &exchange->task);
    if (error) {
        http_response_error(&exchange->response, error);
        http_response_header(&exchange->response, MHD_HTTP_HEADER_RETRY_AFTER, RETRY_AFTER_S);
        http_body_deinit(&exchange->body);
        atomic_store(&exchange->answered, true);
        http_exchange_resume(exchange);
    }
    return MHD_YES;
}

/* Gives the exchange to a handler thread. It is counted as suspended already. */
static enum MHD_Result hand_over(HttpExchange *exchange, void (*run)(HttpTask *task)) {
    exchange->request.brief = false;
    exchange->task.run = run;
    microhttpd.suspend_connection(exchange->mhd);
    http_workers_post(exchange->connection->server->workers, &exchange->task);
    return MHD_YES;
}

/* Gives the exchange to the thread that wakes it. */
static enum MHD_Result leave_waiting(HttpExchange *exchange) {
    exchange->request.brief = false;
    microhttpd.suspend_connection(exchange->mhd);
    if (was_woken(exchange))
        http_workers_post(exchange->connection->server->workers, &exchange->task);
    return MHD_YES;
}

/* Answers a brief request on this thread. Whatever turns out to take longer is handed over. The
 * exchange counts as suspended meanwhile, so that the server's close waits for it. */
static enum MHD_Result answer_at_once(HttpExchange *exchange) {
    if (!count_suspended(exchange->connection->server)) return MHD_NO;
    exchange->request.brief = true;
    run_handler(exchange);
    if (exchange->waits_for_room) return hand_over(exchange, run_task);
    while (exchange->response.wait.start) {
        begin_wait(exchange);
        if (atomic_load(&exchange->wait_state) != HTTP_WAIT_WOKEN) return leave_waiting(exchange);
        finish_wait(exchange);
    }
    HttpServer *server = exchange->connection->server;
    if (answer_bytes(exchange) > HTTP_SMALL_ANSWER) return hand_over(exchange, run_rest);
    http_briefs_note(&server->briefs, exchange->brief_key, exchange->work_ns);
    (void)atomic_fetch_sub(&server->suspended, 1);
    return http_exchange_send(exchange);
}

enum MHD_Result http_handling_start(HttpExchange *exchange) {
    static const HttpLane lanes[] = {
        [ROUTE_PACE_CONTROL] = HTTP_LANE_CONTROL,
        [ROUTE_PACE_QUICK] = HTTP_LANE_QUICK,
        [ROUTE_PACE_SLOW] = HTTP_LANE_SLOW,
        [ROUTE_PACE_BRIEF] = HTTP_LANE_SLOW,
        [ROUTE_PACE_COMPILE] = HTTP_LANE_COMPILE,
    };
    const RoutePace pace = exchange->request.route ? exchange->request.route->pace : 0;
    exchange->run_start_ns = clock_now_ns(clock_real());
    if (pace == ROUTE_PACE_INSTANT) {
        run_handler(exchange);
        return http_exchange_send(exchange);
    }
    exchange->task.lane = lanes[pace];
    exchange->task.tenant = share_of(&exchange->request.caller);
    exchange->brief_key = http_briefs_key(&exchange->request, exchange->body.size);
    return http_briefs_has(&exchange->connection->server->briefs, exchange->brief_key)
               ? answer_at_once(exchange)
               : post_handler(exchange);
}
