#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "tests/scheduler/http_fixtures.h"

enum { TEXT_SIZE = 4096, TRIES = 200 };

static const char body[] = "{\"inputs\":[]}";

static int infer(TestServer *server, char text[TEXT_SIZE]) {
    return test_server_ask(
        server, TEST_USER, HTTP_METHOD_POST, "/v2/models/m/infer", body, text, TEXT_SIZE);
}

/* Asks until a request was answered on the thread that moves bytes. */
static void ask_until_brief(TestServer *server) {
    char text[TEXT_SIZE];
    for (int i = 0; i < TRIES && !atomic_load(&server->jobs.lent); i++)
        assert_int_equal(infer(server, text), 200);
    assert_true(atomic_load(&server->jobs.lent) > 0);
}

/* The first request of a kind has a handler thread; a later one lends the thread that moves
 * bytes. */
static void test_http_handling_answers_brief_requests_at_once(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE];
    test_server_open(&server, NULL);
    test_server_register(&server, TEST_USER, "m");
    assert_int_equal(infer(&server, text), 200);
    assert_int_equal(atomic_load(&server.jobs.lent), 0);
    ask_until_brief(&server);
}

/* A brief request that would have to wait for room is handled once more by a thread that may
 * wait. */
static void test_http_handling_repeats_a_brief_request_that_would_wait(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE];
    test_server_open(&server, NULL);
    test_server_register(&server, TEST_USER, "m");
    ask_until_brief(&server);
    const unsigned lent = atomic_load(&server.jobs.lent), runs = atomic_load(&server.jobs.runs);
    server.jobs.refuses_brief = true;
    for (int i = 0; i < 10; i++) assert_int_equal(infer(&server, text), 200);
    assert_int_equal(atomic_load(&server.jobs.lent), lent);
    assert_int_equal(atomic_load(&server.jobs.runs), runs + 10);
}

/* A brief request whose run has not ended leaves the thread, which goes on to serve others; the run
 * is cancelled when the client goes. */
static void test_http_handling_leaves_a_brief_request_that_takes_longer(void **state) {
    (void)state;
    static const struct timespec pause = {.tv_nsec = 1000000};
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE];
    test_server_open(&server, NULL);
    test_server_register(&server, TEST_USER, "m");
    ask_until_brief(&server);
    const unsigned runs = atomic_load(&server.jobs.runs);
    server.jobs.holds_runs = true;
    int descriptor = test_connect(&server, false);
    test_send(descriptor,
        "POST /v2/models/m/infer?tenant=alice HTTP/1.1\r\nHost: x\r\nContent-Length: 13\r\n\r\n");
    test_send(descriptor, body);
    for (int i = 0; i < 20000 && atomic_load(&server.jobs.runs) == runs; i++)
        (void)nanosleep(&pause, NULL);
    assert_int_equal(test_server_ask(&server, TEST_LOCAL, HTTP_METHOD_GET, "/v2/health/live", NULL,
                         text, sizeof text),
        200);
    (void)close(descriptor);
    for (int i = 0; i < 20000 && !atomic_load(&server.jobs.cuts); i++)
        (void)nanosleep(&pause, NULL);
    assert_int_equal(atomic_load(&server.jobs.cuts), 1);
}

int test_http_handling(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_handling_answers_brief_requests_at_once),
        cmocka_unit_test(test_http_handling_repeats_a_brief_request_that_would_wait),
        cmocka_unit_test(test_http_handling_leaves_a_brief_request_that_takes_longer),
    };
    return cmocka_run_group_tests_name("http_handling", tests, NULL, NULL);
}
