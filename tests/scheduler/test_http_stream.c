#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "scheduler/http/http_server_internal.h"
#include "tests/scheduler/http_fixtures.h"

enum { TEXT_SIZE = 65536, PATIENCE_MS = 10000 };

static const char submit[] = "{\"model\":\"m\"}";

static int watch(TestServer *server, bool tcp, int64_t since) {
    char request[512];
    int descriptor = test_connect(server, tcp);
    (void)snprintf(request, sizeof request,
        "GET /v1/jobs/0000000000aa-1/watch?since=%lld HTTP/1.1\r\nHost: x\r\n%s%s%s\r\n",
        (long long)since, tcp ? "Authorization: Bearer " : "",
        tcp ? server->tokens[TEST_ADMIN] : "", tcp ? "\r\n" : "");
    test_send(descriptor, request);
    return descriptor;
}

static void wait_for_watchers(TestServer *server, uint32_t count) {
    static const struct timespec pause = {.tv_nsec = 5000000};
    for (int i = 0; i < 2000 && memory_jobs_watchers(&server->jobs) != count; i++)
        (void)nanosleep(&pause, NULL);
    assert_int_equal(memory_jobs_watchers(&server->jobs), count);
}

/* Lines come when there is something to tell, and the stream ends with the job. */
static void test_http_stream_tells_changes_as_they_come(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE];
    test_server_open(&server, NULL);
    assert_int_equal(test_server_submit(&server, TEST_LOCAL, submit, text, sizeof text), 200);
    for (int tcp = 0; tcp < 2; tcp++) {
        int descriptor = watch(&server, tcp, 0);
        assert_true(
            test_receive_until(descriptor, "\"state\":\"queued\"", text, sizeof text, PATIENCE_MS));
        memory_jobs_set_state(&server.jobs, 0, "suspended", false);
        assert_true(test_receive_until(
            descriptor, "\"state\":\"suspended\"", text, sizeof text, PATIENCE_MS));
        memory_jobs_set_state(&server.jobs, 0, "queued", false);
        assert_true(test_receive_until(descriptor, "queued", text, sizeof text, PATIENCE_MS));
        (void)close(descriptor);
    }
    int descriptor = watch(&server, false, 5);
    memory_jobs_set_state(&server.jobs, 0, "succeeded", true);
    assert_true(test_receive_until(descriptor, "\r\n0\r\n\r\n", text, sizeof text, PATIENCE_MS));
    assert_null(strstr(text, "suspended")); /* those lines were seen before */
    assert_non_null(strstr(text, "succeeded"));
    (void)close(descriptor);
    wait_for_watchers(&server, 0);
}

/* A client that is gone is noticed while nothing happens. */
static void test_http_stream_notices_vanished_clients(void **state) {
    (void)state;
    enum { WATCHERS = 100 };
    static int watchers[WATCHERS];
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE];
    test_server_open(&server, NULL);
    assert_int_equal(test_server_submit(&server, TEST_LOCAL, submit, text, sizeof text), 200);
    int threads = test_thread_count();
    for (int i = 0; i < WATCHERS; i++) watchers[i] = watch(&server, i % 2, 0);
    wait_for_watchers(&server, WATCHERS);
    for (int i = 0; i < WATCHERS; i++)
        assert_true(test_receive_until(watchers[i], "queued", text, sizeof text, PATIENCE_MS));
    assert_int_equal(test_thread_count(), threads);
    for (int i = 0; i < WATCHERS; i++) (void)close(watchers[i]);
    wait_for_watchers(&server, 0);
    memory_jobs_set_state(&server.jobs, 0, "suspended", false);
    assert_int_equal(
        test_server_ask(&server, TEST_LOCAL, HTTP_METHOD_GET, "/v1/jobs", NULL, NULL, 0), 200);
}

/* News, vanishing and the server's end at the same time. */
static void test_http_stream_survives_news_while_clients_vanish(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE];
    uint64_t seed = 5;
    test_server_open(&server, NULL);
    assert_int_equal(test_server_submit(&server, TEST_LOCAL, submit, text, sizeof text), 200);
    for (int round = 0; round < 60; round++) {
        int watchers[8];
        for (int i = 0; i < 8; i++) watchers[i] = watch(&server, i % 2, 0);
        for (int i = 0; i < 8; i++) {
            if (test_random(&seed) % 2)
                memory_jobs_set_state(&server.jobs, 0, i % 2 ? "queued" : "suspended", false);
            if (test_random(&seed) % 2) (void)recv(watchers[i], text, 64, MSG_DONTWAIT);
            (void)close(watchers[i]);
        }
    }
    int left = watch(&server, false, 0);
    assert_true(test_receive_until(left, "queued", text, sizeof text, PATIENCE_MS));
    http_server_close(server.server);
    server.server = NULL;
    (void)close(left);
    assert_int_equal(memory_jobs_watchers(&server.jobs), 0);
}

int test_http_stream(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_stream_tells_changes_as_they_come),
        cmocka_unit_test(test_http_stream_notices_vanished_clients),
        cmocka_unit_test(test_http_stream_survives_news_while_clients_vanish),
    };
    return cmocka_run_group_tests_name("http_stream", tests, NULL, NULL);
}
