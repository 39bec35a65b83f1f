#include "scheduler/migration/node_link.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/http/client/json_body.h"
#include "tests/scheduler/bad_server.h"
#include "tests/scheduler/http_fixtures.h"

static Node make(const char *url, const char *token, const char *fingerprint) {
    Node node = {.name = "west", .node = 1};
    (void)snprintf(node.url, sizeof node.url, "%s", url);
    (void)snprintf(node.token, sizeof node.token, "%s", token);
    (void)snprintf(node.fingerprint, sizeof node.fingerprint, "%s", fingerprint);
    return node;
}

/* Within 2 s. */
static Error *ask(Node node, json_object **out) {
    OWN(HttpClient, client) = NULL;
    TRY(node_link_open(&node, &client));
    return node_link_ask_within(client, HTTP_METHOD_GET, "/v1/models/m", NULL, 2000, out);
}

static void test_node_link_speaks_over_tls_with_the_trusted_key(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    HttpServerOptions tls = {.tls_certificate = test_tls_certificate, .tls_key = test_tls_key};
    test_server_open(&server, &tls);
    OWN(HttpClient, client) = NULL;
    OWN_JSON(answer) = NULL;
    json_object *body = json_object_new_object();
    Node node = make(server.url, server.tokens[TEST_ADMIN], test_tls_fingerprint);
    assert_ok(node_link_open(&node, &client));
    json_object_object_add(body, "role", json_object_new_string("node"));
    assert_ok(node_link_ask(client, HTTP_METHOD_POST, "/v1/tokens", body, &answer));
    assert_true(json_object_object_get_ex(answer, "token", NULL));
    node = make(server.url, server.tokens[TEST_ADMIN],
        "sha256//AAAAU6i3vl97CkgYJSy0d+5K+qDgj5dhU6S2B3SzNE4=");
    assert_fails_saying(REFUSED, "another key", ask(node, &answer));
    node = make(server.url, "x", test_tls_fingerprint);
    assert_fails(UNAUTHENTICATED, ask(node, &answer));
    node = make(server.url, server.tokens[TEST_ADMIN], test_tls_fingerprint);
    assert_fails_saying(NOT_FOUND, "m", ask(node, &answer)); /* what the node said */
}

/* What the store says is looked at again: its file may be older than the rules, or damaged. */
static void test_node_link_opens_no_unsafe_lines(void **state) {
    (void)state;
    HttpClient *client;
    Node node = make("https://west.example:1", "t", "");
    assert_fails_saying(INVALID, "fingerprint", node_link_open(&node, &client));
    node = make("http://west.example:1", "t", "");
    assert_fails(REFUSED, node_link_open(&node, &client));
    node = make("http://127.0.0.1:1", "t", test_tls_fingerprint);
    assert_fails(INVALID, node_link_open(&node, &client));
    node = make("http://127.0.0.1:1", "a\r\nb", "");
    assert_fails(INVALID, node_link_open(&node, &client));
}

static void test_node_link_uses_no_proxy(void **state) {
    (void)state;
    BadServer proxy, peer;
    OWN_JSON(answer) = NULL;
    bad_server_start(&proxy, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"from\":\"proxy\"}");
    bad_server_start(&peer, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"from\":\"peer\"}");
    assert_int_equal(setenv("http_proxy", proxy.url, 1), 0);
    assert_ok(ask(make(peer.url, "t", ""), &answer));
    assert_int_equal(unsetenv("http_proxy"), 0);
    assert_string_equal(json_object_get_string(json_object_object_get(answer, "from")), "peer");
    bad_server_stop(&proxy);
    bad_server_stop(&peer);
}

static void test_node_link_takes_nothing_but_an_object(void **state) {
    (void)state;
    static const char *const answers[] = {"[]", "7", "{", "{\"a\":NaN}", "{} {}", "\xff"};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        BadServer server;
        char text[128];
        OWN_JSON(answer) = NULL;
        (void)snprintf(
            text, sizeof text, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n%s", answers[i]);
        bad_server_start(&server, text);
        assert_fails(CORRUPT, ask(make(server.url, "t", ""), &answer));
        bad_server_stop(&server);
    }
}

/* The kernel takes the connection, and nobody ever answers. */
static void test_node_link_ends_with_who_is_silent(void **state) {
    (void)state;
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    char url[64];
    OWN_JSON(answer) = NULL;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listener, 4), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d", ntohs(address.sin_port));
    assert_fails(UNREACHABLE, ask(make(url, "t", ""), &answer));
    url[0] = 0;
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%d", ntohs(address.sin_port));
    assert_fails(UNREACHABLE, ask(make(url, "t", test_tls_fingerprint), &answer));
    (void)close(listener);
}

int test_node_link(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_node_link_speaks_over_tls_with_the_trusted_key),
        cmocka_unit_test(test_node_link_opens_no_unsafe_lines),
        cmocka_unit_test(test_node_link_uses_no_proxy),
        cmocka_unit_test(test_node_link_takes_nothing_but_an_object),
        cmocka_unit_test(test_node_link_ends_with_who_is_silent),
    };
    return cmocka_run_group_tests_name("node_link", tests, NULL, NULL);
}
