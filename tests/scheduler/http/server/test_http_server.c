#include "scheduler/http/server/http_server.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/scheduler/http_fixtures.h"

enum { ANSWER_SIZE = 16384, PATIENCE_MS = 10000 };

static void test_http_server_answers_over_both_sockets(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char text[ANSWER_SIZE];
    struct stat status;
    test_server_open(&server, NULL);
    for (int tcp = 0; tcp < 2; tcp++) {
        TestRole role = tcp ? TEST_NOBODY : TEST_LOCAL;
        assert_int_equal(test_server_ask(&server, role, HTTP_METHOD_GET, "/v2/health/live", NULL,
                             text, sizeof text),
            200);
        assert_string_equal(text, "{\"live\":true}\n");
    }
    assert_int_equal(stat(server.socket, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_true(http_server_address(server.server)[0]);
    atomic_store(&server.service.ready, false);
    assert_int_equal(
        test_server_ask(&server, TEST_NOBODY, HTTP_METHOD_GET, "/v2/health/ready", NULL, NULL, 0),
        503);
}

/* The socket of a daemon that was killed is taken over, that of one that answers is not. */
static void test_http_server_takes_over_a_socket_that_nobody_answers_at(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    HttpServer *second;
    test_server_open(&server, NULL);
    HttpServerOptions options = {.socket_path = server.socket};
    assert_fails_saying(
        REFUSED, "answers there", http_server_open(&server.service, &options, &second));
    assert_int_equal(access(server.socket, F_OK), 0);
    assert_fails(INVALID, http_server_open(&server.service, &(HttpServerOptions){0}, &second));
}

static void test_http_server_keeps_a_thousand_idle_connections(void **state) {
    (void)state;
    enum { IDLE = 1000 };
    static int idle[IDLE];
    TestServer OWN_SERVER(server);
    test_server_open(&server, NULL);
    int threads = test_thread_count();
    for (int i = 0; i < IDLE; i++) {
        idle[i] = test_connect(&server, i % 2);
        if (i % 3 == 0) test_send(idle[i], "GET /v1/models HTTP/1.1\r\nHost:");
    }
    uint64_t start = clock_now_ns(clock_real());
    for (int i = 0; i < 20; i++)
        assert_int_equal(test_server_ask(&server, i % 2 ? TEST_LOCAL : TEST_ADMIN, HTTP_METHOD_GET,
                             "/v1/models", NULL, NULL, 0),
            200);
    assert_true(clock_now_ns(clock_real()) - start < (uint64_t)PATIENCE_MS * 1000000);
    assert_int_equal(test_thread_count(), threads);
    for (int i = 0; i < IDLE; i++) (void)close(idle[i]);
}

/* Whatever comes too slowly is cut, however regularly it comes. */
static void test_http_server_cuts_heads_and_bodies_that_never_end(void **state) {
    (void)state;
    static const char *const starts[] = {"", "GET /v1/models HTTP/1.1\r\n",
        "POST /v1/tenants HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{",
        "POST /v1/models/m HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"};
    static const char *const drops[] = {"", "X: y\r\n", " ", "1\r\nx\r\n"};
    HttpServerOptions options = {.head_limit_ms = 300, .body_limit_ms = 300, .idle_limit_ms = 300};
    TestServer OWN_SERVER(server);
    test_server_open(&server, &options);
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        char text[ANSWER_SIZE];
        int descriptor = test_connect(&server, false);
        uint64_t start = clock_now_ns(clock_real()), taken = 0;
        if (*starts[i]) test_send(descriptor, starts[i]);
        for (size_t got = 1; taken < (uint64_t)PATIENCE_MS * 1000000;) {
            struct timespec pause = {.tv_nsec = 20000000};
            (void)nanosleep(&pause, NULL);
            taken = clock_now_ns(clock_real()) - start;
            (void)send(descriptor, drops[i], strlen(drops[i]), MSG_NOSIGNAL);
            got = (size_t)recv(descriptor, text, sizeof text, MSG_DONTWAIT);
            if (got != (size_t)-1) break;
        }
        assert_true(taken > 200000000u && taken < 3000000000u);
        (void)close(descriptor);
    }
}

static void test_http_server_refuses_what_is_too_large(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char text[ANSWER_SIZE];
    test_server_open(&server, NULL);
    /* told beforehand: refused before a byte of it is read */
    int descriptor = test_connect(&server, false);
    test_send(
        descriptor, "POST /v1/tenants HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n\r\n");
    assert_true(test_receive_until(descriptor, "TOO_LARGE", text, sizeof text, PATIENCE_MS));
    assert_non_null(strstr(text, "HTTP/1.1 413"));
    (void)close(descriptor);
    /* not told: cut at the limit */
    descriptor = test_connect(&server, false);
    static char chunk[70000];
    test_send(
        descriptor, "POST /v1/tenants HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    memset(chunk, ' ', sizeof chunk);
    memcpy(chunk, "10000\r\n", 7);
    memcpy(chunk + 7 + 65536, "\r\n", 3);
    for (int i = 0; i < 18; i++) test_send(descriptor, chunk);
    test_send(descriptor, "0\r\n\r\n");
    assert_true(test_receive_until(descriptor, "TOO_LARGE", text, sizeof text, PATIENCE_MS));
    (void)close(descriptor);
    /* a head beyond its limit */
    descriptor = test_connect(&server, false);
    test_send(descriptor, "GET /v1/models HTTP/1.1\r\nHost: x\r\n");
    memset(chunk, 'a', 60000);
    chunk[1] = ':';
    memcpy(chunk + 60000, "\r\n", 3);
    for (int i = 0; i < 2; i++) (void)send(descriptor, chunk, 60002, MSG_NOSIGNAL);
    (void)send(descriptor, "\r\n", 2, MSG_NOSIGNAL);
    (void)test_receive(descriptor, text, sizeof text, PATIENCE_MS);
    assert_null(strstr(text, "200 OK"));
    (void)close(descriptor);
    assert_int_equal(
        test_server_ask(&server, TEST_LOCAL, HTTP_METHOD_GET, "/v1/models", NULL, NULL, 0), 200);
}

static void test_http_server_refuses_malformed_requests(void **state) {
    (void)state;
    static const char *const requests[] = {"\r\n\r\n", "GET\r\n\r\n", "GET /\r\n\r\n",
        "BREW /v1/models HTTP/1.1\r\nHost: x\r\n\r\n", "GET /v1/models HTTP/9.9\r\nHost: x\r\n\r\n",
        "GET nowhere HTTP/1.1\r\nHost: x\r\n\r\n", "GET /v1/models%00x HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /v1/models/%zz HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /v1/models/..%2f..%2fetc HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /v1/models/../../etc HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST /v1/tenants HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        "POST /v1/tenants HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "POST /v1/gc HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
        "POST /v1/tenants HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"};
    TestServer OWN_SERVER(server);
    test_server_open(&server, NULL);
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        char text[ANSWER_SIZE];
        int descriptor = test_connect(&server, false);
        test_send(descriptor, requests[i]);
        (void)shutdown(descriptor, SHUT_WR);
        (void)test_receive(descriptor, text, sizeof text, 2000);
        assert_null(strstr(text, " 200 "));
        assert_null(strstr(text, server.folder)); /* nothing of the inside is told */
        (void)close(descriptor);
    }
    assert_int_equal(
        test_server_ask(&server, TEST_LOCAL, HTTP_METHOD_GET, "/v1/models", NULL, NULL, 0), 200);
}

/* Requests that follow each other on one connection, without waiting for the answers. */
static void test_http_server_answers_pipelined_requests_in_order(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char text[ANSWER_SIZE];
    test_server_open(&server, NULL);
    int descriptor = test_connect(&server, false);
    for (int i = 0; i < 10; i++)
        test_send(descriptor, "GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n"
                              "GET /v2/health/ready HTTP/1.1\r\nHost: x\r\n\r\n");
    test_send(descriptor, "GET /v1/nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    (void)test_receive(descriptor, text, sizeof text, PATIENCE_MS);
    const char *at = text;
    for (int i = 0; i < 20; i++) {
        at = strstr(at, i % 2 ? "{\"ready\":true}" : "{\"live\":true}");
        assert_non_null(at);
        at++;
    }
    assert_non_null(strstr(at, "NOT_FOUND"));
    (void)close(descriptor);
}

/* A server that stops lets no handler be cut and no stream hang. */
static void test_http_server_stops_with_connections_open(void **state) {
    (void)state;
    TestServer server;
    char text[ANSWER_SIZE];
    test_server_open(&server, NULL);
    assert_int_equal(test_server_ask(&server, TEST_LOCAL, HTTP_METHOD_POST, "/v1/checkpoints",
                         "checkpoint", NULL, 0),
        200);
    int idle = test_connect(&server, true), watching = test_connect(&server, false);
    test_send(watching, "GET /v1/jobs/0000000000aa-1/watch HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(test_receive_until(watching, "queued", text, sizeof text, PATIENCE_MS));
    test_server_close(&server);
    (void)test_receive(watching, text, sizeof text, PATIENCE_MS);
    assert_int_not_equal(access(server.socket, F_OK), 0);
    (void)close(idle);
    (void)close(watching);
}

int test_http_server(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_server_answers_over_both_sockets),
        cmocka_unit_test(test_http_server_takes_over_a_socket_that_nobody_answers_at),
        cmocka_unit_test(test_http_server_keeps_a_thousand_idle_connections),
        cmocka_unit_test(test_http_server_cuts_heads_and_bodies_that_never_end),
        cmocka_unit_test(test_http_server_refuses_what_is_too_large),
        cmocka_unit_test(test_http_server_refuses_malformed_requests),
        cmocka_unit_test(test_http_server_answers_pipelined_requests_in_order),
        cmocka_unit_test(test_http_server_stops_with_connections_open),
    };
    return cmocka_run_group_tests_name("http_server", tests, NULL, NULL);
}
