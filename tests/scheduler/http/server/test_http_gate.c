#include "scheduler/http/server/http_gate.h"

#include <stdio.h>
#include <unistd.h>

#include "tests/scheduler/http_fixtures.h"

enum { TEXT_SIZE = 65536, BODY_SIZE = 300000 };

/* What comes in one packet behind a request is refused or not answered, and the request itself is
 * answered. Over TLS: tests/end_to_end/service/test_framing.py. */
static void test_http_gate_stands_before_the_server(void **state) {
    (void)state;
    static const char *const bad[] = {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length : 42\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "nothing\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n"};
    TestServer OWN_SERVER(server);
    test_server_open(&server, NULL);
    for (size_t i = 0; i < 2 * sizeof bad / sizeof *bad; i++) {
        char text[TEXT_SIZE], request[512];
        (void)snprintf(request, sizeof request,
            "GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n%s"
            "GET /v2/health/ready HTTP/1.1\r\nHost: x\r\n\r\n",
            bad[i / 2]);
        int descriptor = test_connect(&server, i % 2);
        test_send(descriptor, request);
        (void)test_receive(descriptor, text, sizeof text, 5000);
        const char *first = strstr(text, "{\"live\":true}");
        assert_non_null(first);
        const char *second = strstr(first, "HTTP/1.1 400 ");
        assert_non_null(second);
        assert_non_null(strstr(second, "Connection: close"));
        assert_non_null(strstr(second, "\"code\":\"INVALID\""));
        assert_null(strstr(text, "ready"));
        (void)close(descriptor);
    }
}

/* Bodies of both kinds arrive as they are, and the request behind them is answered. */
static void test_http_gate_lets_bodies_through(void **state) {
    (void)state;
    static char body[BODY_SIZE + 1];
    TestServer OWN_SERVER(server);
    test_server_open(&server, NULL);
    for (size_t i = 0; i < BODY_SIZE; i++) body[i] = ' ';
    memcpy(body, "{\"tenant\":\"a-00\"}", 17);
    for (int chunked = 0; chunked < 2; chunked++) {
        char text[TEXT_SIZE], head[256];
        int descriptor = test_connect(&server, false);
        body[12] = chunked ? 'b' : 'c';
        (void)snprintf(head, sizeof head, "POST /v1/tenants HTTP/1.1\r\nHost: x\r\n%s%d\r\n\r\n",
            chunked ? "Transfer-Encoding: chunked\r\nA: " : "Content-Length: ", BODY_SIZE);
        test_send(descriptor, head);
        if (chunked) {
            (void)snprintf(head, sizeof head, "%x\r\n", BODY_SIZE);
            test_send(descriptor, head);
        }
        test_send(descriptor, body);
        if (chunked) test_send(descriptor, "\r\n0\r\n\r\n");
        test_send(descriptor, "GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_true(test_receive_until(descriptor, "{\"live\":true}", text, sizeof text, 10000));
        assert_int_equal(strncmp(text, "HTTP/1.1 200 ", 13), 0);
        (void)close(descriptor);
    }
}

int test_http_gate(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_gate_stands_before_the_server),
        cmocka_unit_test(test_http_gate_lets_bodies_through),
    };
    return cmocka_run_group_tests_name("http_gate", tests, NULL, NULL);
}
