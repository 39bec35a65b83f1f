#include "scheduler/http/server/http_places.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/scheduler/http_fixtures.h"

enum { TEXT_SIZE = 16384, PATIENCE_MS = 10000 };

static bool is_open(int descriptor) {
    char byte;
    struct pollfd item = {.fd = descriptor, .events = POLLIN};
    return poll(&item, 1, 0) == 0 || recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

static int connect_with_token(TestServer *server) {
    char text[TEXT_SIZE], request[512];
    const int descriptor = test_connect(server, true);
    (void)snprintf(request, sizeof request,
        "GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n",
        server->tokens[TEST_USER]);
    test_send(descriptor, request);
    assert_true(test_receive_until(descriptor, "\r\n\r\n", text, sizeof text, PATIENCE_MS));
    assert_int_equal(strncmp(text, "HTTP/1.1 200 ", 13), 0);
    return descriptor;
}

/* As many idle connections of one address as there are places, and as many again: one with a token
 * stays, another one gets in, and the oldest of the idle ones go. */
static void test_http_places_are_kept_for_tokens(void **state) {
    (void)state;
    enum { IDLE = 200 };
    static int idle[IDLE];
    const HttpServerOptions limits[] = {{.connection_per_peer_max = 50}, {.connection_max = 64}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        TestServer OWN_SERVER(server);
        int open_count = 0;
        test_server_open(&server, &limits[i]);
        const int before = connect_with_token(&server);
        for (int at = 0; at < IDLE; at++) idle[at] = test_connect(&server, true);
        const int after = connect_with_token(&server);
        assert_true(is_open(before));
        for (int at = 0; at < IDLE; at++) open_count += is_open(idle[at]);
        assert_in_range(open_count, 40, 64);
        assert_false(is_open(idle[0]));
        for (int at = 0; at < IDLE; at++) (void)close(idle[at]);
        (void)close(before);
        (void)close(after);
    }
}

/* Connections that all have tokens: the one that has asked for nothing for longest goes. */
static void test_http_places_take_the_longest_idle_one(void **state) {
    (void)state;
    enum { COUNT = 40 };
    int descriptors[COUNT];
    TestServer OWN_SERVER(server);
    test_server_open(&server, &(HttpServerOptions){.connection_max = 32});
    for (int i = 0; i < COUNT; i++) descriptors[i] = connect_with_token(&server);
    assert_false(is_open(descriptors[0]));
    assert_true(is_open(descriptors[COUNT - 1]));
    for (int i = 0; i < COUNT; i++) (void)close(descriptors[i]);
}

int test_http_places(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_places_are_kept_for_tokens),
        cmocka_unit_test(test_http_places_take_the_longest_idle_one),
    };
    return cmocka_run_group_tests_name("http_places", tests, NULL, NULL);
}
