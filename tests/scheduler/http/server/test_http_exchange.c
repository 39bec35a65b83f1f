#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "store/accounts/tokens.h"
#include "tests/scheduler/http_fixtures.h"

enum { TEXT_SIZE = 65536 };

/* Every answer is counted under its route and class of status. */
static void test_http_exchange_counts_answers(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE];
    test_server_open(&server, NULL);
    for (int i = 0; i < 3; i++)
        (void)test_server_ask(&server, TEST_LOCAL, HTTP_METHOD_GET, "/v1/models", NULL, NULL, 0);
    (void)test_server_ask(&server, TEST_LOCAL, HTTP_METHOD_GET, "/v1/models/m", NULL, NULL, 0);
    (void)test_server_ask(&server, TEST_LOCAL, HTTP_METHOD_GET, "/nowhere", NULL, NULL, 0);
    (void)test_server_ask(&server, TEST_NOBODY, HTTP_METHOD_GET, "/v1/models", NULL, NULL, 0);
    assert_int_equal(
        test_server_ask(&server, TEST_LOCAL, HTTP_METHOD_GET, "/metrics", NULL, text, sizeof text),
        200);
    assert_non_null(strstr(text, "{route=\"GET /v1/models\",status=\"2xx\"} 3\n"));
    assert_non_null(strstr(text, "{route=\"GET /v1/models/{model}\",status=\"4xx\"} 1\n"));
    assert_non_null(strstr(text, "{route=\"none\",status=\"4xx\"} 2\n"));
    assert_non_null(strstr(text, "layover_http_request_seconds_count 4\n"));
}

static Error *make_token(Connection *catalog, void *context) {
    Token token;
    char text[TOKEN_TEXT_SIZE];
    (void)context;
    return tokens_create(catalog, TENANT_DEFAULT, TOKEN_ROLE_USER, &token, text);
}

/* An answer of more than one piece has all of them, whoever reads them how. */
static void test_http_exchange_answers_in_pieces(void **state) {
    (void)state;
    enum { TOKENS = 500 };
    TestServer OWN_SERVER(server);
    static char text[TEXT_SIZE];
    size_t lines = 0;
    test_server_open(&server, NULL);
    for (int i = 0; i < TOKENS; i++)
        assert_ok(http_service_change(&server.service, make_token, NULL));
    assert_int_equal(test_server_ask(&server, TEST_ADMIN, HTTP_METHOD_GET, "/v1/tokens", NULL, text,
                         sizeof text),
        200);
    for (const char *at = text; (at = strchr(at, '\n')); at++) lines++;
    assert_true(strlen(text) > 20000);
    assert_int_equal(lines, TOKENS + 4);
    for (int64_t id = 1; id <= TOKENS + 4; id++) {
        char part[32];
        (void)snprintf(part, sizeof part, "{\"id\":%lld,", (long long)id);
        assert_non_null(strstr(text, part));
    }
}

/* Bodies large and small, whole and in pieces, arrive as they were sent. */
static void test_http_exchange_takes_bodies_in_pieces(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE];
    static const char *const pieces[] = {"POST /v1/tenants HTTP/1.1\r\nHo", "st: x\r\nTransfer-",
        "Encoding: chunked\r\n\r\n3\r\n{\"t\r\n", "1\r\ne\r\n8\r\nnant\":\"z\r\n",
        "2\r\n\"}\r\n0\r\n", "\r\n"};
    test_server_open(&server, NULL);
    int descriptor = test_connect(&server, false);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        test_send(descriptor, pieces[i]);
        (void)usleep(20000);
    }
    assert_true(test_receive_until(descriptor, "\"tenant\":\"z\"", text, sizeof text, 5000));
    (void)close(descriptor);
}

/* A client that sends its body without asking finds the connection open until it has sent it, and
 * the refusal behind it; one that asks first, or has much to send, is refused at once. */
static void test_http_exchange_refuses_behind_short_bodies(void **state) {
    (void)state;
    static const char *const eager[] = {"Expect: 100-continue\r\nContent-Length: 5",
        "Content-Length: 99999999", "Content-Length: five"};
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE];
    test_server_open(&server, NULL);
    int descriptor = test_connect(&server, false);
    for (int i = 0; i < 2; i++) {
        test_send(descriptor, "POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n");
        assert_int_equal(test_receive(descriptor, text, sizeof text, 100), 0);
        test_send(descriptor, "hello");
        assert_true(test_receive_until(descriptor, "NOT_FOUND", text, sizeof text, 5000));
    }
    (void)close(descriptor);
    for (size_t i = 0; i < sizeof eager / sizeof *eager; i++) {
        char head[128];
        (void)snprintf(
            head, sizeof head, "POST /nowhere HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n", eager[i]);
        descriptor = test_connect(&server, false);
        test_send(descriptor, head);
        assert_true(test_receive_until(descriptor, "HTTP/1.1 4", text, sizeof text, 5000));
        (void)close(descriptor);
    }
}

/* What a proxy may read another way: refused, and nothing behind it is read as a request. */
static void test_http_exchange_refuses_heads_that_say_two_things(void **state) {
    (void)state;
    static const char *const heads[] = {"Content-Length: 4\r\nTransfer-Encoding: chunked",
        "Content-Length: 4\r\nContent-Length: 5", "Content-Length: 5\r\nContent-Length: 5",
        "Content-Length: 5\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b"};
    TestServer OWN_SERVER(server);
    test_server_open(&server, NULL);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        char text[TEXT_SIZE], request[256];
        (void)snprintf(request, sizeof request,
            "POST /v1/tenants HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n0\r\n\r\n"
            "GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n",
            heads[i]);
        int descriptor = test_connect(&server, false);
        test_send(descriptor, request);
        const size_t size = test_receive(descriptor, text, sizeof text - 1, 500);
        text[size] = 0;
        assert_int_equal(strncmp(text, "HTTP/1.1 400 ", 13), 0);
        assert_non_null(strstr(text, "Connection: close"));
        assert_null(strstr(text, "200 OK"));
        (void)close(descriptor);
    }
}

static Error *revoke_token(Connection *catalog, void *context) {
    return tokens_revoke(catalog, *(const int64_t *)context);
}

/* A token that is revoked while a body comes opens nothing any more: no token is made with it, and
 * no job is sent. */
static void test_http_exchange_looks_at_the_token_before_it_acts(void **state) {
    (void)state;
    static const char *const lines[] = {
        "POST /v1/tokens", "POST /v1/models/m", "POST /v1/jobs/0000000000aa-1/cancel"};
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE], head[512];
    int descriptors[sizeof lines / sizeof *lines];
    Token token;
    test_server_open(&server, NULL);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        descriptors[i] = test_connect(&server, true);
        (void)snprintf(head, sizeof head,
            "%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: "
            "33\r\n\r\n{\"tenant\":\"alice\",",
            lines[i], server.tokens[TEST_ADMIN]);
        test_send(descriptors[i], head);
        assert_int_equal(test_receive(descriptors[i], text, sizeof text, 100), 0);
    }
    assert_ok(settings_cache_check_token(server.settings, server.tokens[TEST_ADMIN], &token));
    assert_ok(catalog_run(server.catalog, revoke_token, &token.id));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        test_send(descriptors[i], "\"role\":\"admin\"}");
        assert_true(test_receive_until(descriptors[i], "}", text, sizeof text, 10000));
        assert_int_equal(strncmp(text, "HTTP/1.1 401 ", 13), 0);
        (void)close(descriptors[i]);
    }
}

/* However many requests wait for a safepoint, of every route that does, no thread waits with them:
 * others are answered, and they are when it comes. */
static void test_http_exchange_waits_without_a_thread(void **state) {
    (void)state;
    enum { WAITS = 60 };
    static const char *const lines[] = {"POST /v1/jobs/0000000000aa-%d/suspend",
        "POST /v1/jobs/0000000000aa-%d/cancel", "POST /v1/jobs/0000000000aa-%d/fork",
        "GET /v1/jobs/0000000000aa-%d/checkpoint"};
    static const struct timespec pause = {.tv_nsec = 1000000};
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE], request[256];
    int waiting[WAITS];
    test_server_open(&server, NULL);
    for (int i = 0; i <= WAITS; i++)
        assert_int_equal(
            test_server_submit(&server, TEST_LOCAL, "{\"model\":\"m\"}", NULL, 0), 200);
    const int threads = test_thread_count();
    memory_jobs_hold(&server.jobs);
    for (int i = 0; i < WAITS; i++) {
        char line[128];
        waiting[i] = test_connect(&server, false);
        (void)snprintf(line, sizeof line, lines[i % 4], i + 1);
        (void)snprintf(
            request, sizeof request, "%s HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", line);
        test_send(waiting[i], request);
    }
    for (int i = 0; i < 10000 && memory_jobs_waits(&server.jobs) < WAITS; i++)
        (void)nanosleep(&pause, NULL);
    assert_int_equal(memory_jobs_waits(&server.jobs), WAITS);
    assert_int_equal(test_thread_count(), threads);
    assert_int_equal(
        test_server_ask(&server, TEST_LOCAL, HTTP_METHOD_GET, "/v1/models", NULL, NULL, 0), 200);
    assert_int_equal(memory_jobs_let_go(&server.jobs), WAITS);
    for (int i = 0; i < WAITS; i++) {
        assert_true(test_receive_until(
            waiting[i], i % 4 == 3 ? "\r\n\r\n" : "}", text, sizeof text, 10000));
        assert_int_equal(strncmp(text, "HTTP/1.1 200 ", 13), 0);
        if (i % 4 == 0) assert_non_null(strstr(text, "\"suspended\""));
        if (i % 4 == 1) assert_non_null(strstr(text, "\"cancelled\""));
        (void)close(waiting[i]);
    }
}

int test_http_exchange(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_exchange_counts_answers),
        cmocka_unit_test(test_http_exchange_answers_in_pieces),
        cmocka_unit_test(test_http_exchange_takes_bodies_in_pieces),
        cmocka_unit_test(test_http_exchange_refuses_behind_short_bodies),
        cmocka_unit_test(test_http_exchange_refuses_heads_that_say_two_things),
        cmocka_unit_test(test_http_exchange_looks_at_the_token_before_it_acts),
        cmocka_unit_test(test_http_exchange_waits_without_a_thread),
    };
    return cmocka_run_group_tests_name("http_exchange", tests, NULL, NULL);
}
