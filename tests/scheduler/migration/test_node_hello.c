#include "scheduler/migration/node_hello.h"

#include <stdio.h>

#include "scheduler/http/client/json_body.h"
#include "scheduler/migration/protocol.h"
#include "tests/scheduler/bad_server.h"
#include "tests/scheduler/http_fixtures.h"

enum { OWN_NODE = 0xabc, LIMIT_MS = 2000 };

static Node make(const char *url, const char *token) {
    Node node = {.name = "west", .node = 1};
    (void)snprintf(node.url, sizeof node.url, "%s", url);
    (void)snprintf(node.token, sizeof node.token, "%s", token);
    return node;
}

static Error *hello(const char *url, const char *token, NodeHello *out) {
    Node node = make(url, token);
    return node_calls_network.hello(&node, OWN_NODE, LIMIT_MS, out);
}

static void test_node_hello_learns_who_answers(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    NodeHello answer;
    test_server_open(&server, NULL);
    assert_ok(hello(server.url, server.tokens[TEST_NODE], &answer));
    assert_true(answer.node == server.service.node);
    assert_true(answer.is_node);
    assert_int_equal(answer.protocol, MIGRATION_PROTOCOL_MAX);
    assert_string_equal(answer.layover, "0.0.test");
    assert_int_equal(answer.devices, 1);
    assert_int_equal(answer.unfinished, 0);
    assert_ok(hello(server.url, server.tokens[TEST_ADMIN], &answer));
    assert_false(answer.is_node);
    assert_fails_saying(REFUSED, "no way in", hello(server.url, server.tokens[TEST_USER], &answer));
    assert_fails_saying(
        REFUSED, "no way in", hello(server.url, server.tokens[TEST_WRONG], &answer));
}

static Error *hello_to(const char *answer, NodeHello *out) {
    BadServer server;
    char text[1024];
    (void)snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n%s", answer);
    bad_server_start(&server, text);
    Error *error = hello(server.url, "t", out);
    bad_server_stop(&server);
    return error;
}

#define VERSIONS "\"protocol\":{\"min\":1,\"max\":1}"
#define NODE "\"node\":\"3f9a0c72d1e4\""

static void test_node_hello_believes_nothing_that_cannot_be(void **state) {
    (void)state;
    static const char *const wrong[] = {"{}", "{" NODE "}", "{" VERSIONS "}",
        "{\"node\":\"000000000000\"," VERSIONS "}", "{\"node\":17," VERSIONS "}",
        "{\"node\":\"3f9a0c72d1e4-1\"," VERSIONS "}", "{" NODE ",\"protocol\":1}",
        "{" NODE ",\"protocol\":{}}", "{" NODE ",\"protocol\":{\"min\":2,\"max\":1}}",
        "{" NODE ",\"protocol\":{\"min\":1,\"max\":1e99}}",
        "{" NODE "," VERSIONS ",\"unfinished\":-1}",
        "{" NODE "," VERSIONS ",\"devices\":9223372036854775807}",
        "{" NODE "," VERSIONS ",\"waiting\":\"x\"}", "{" NODE "," VERSIONS ",\"role\":[]}",
        "{" NODE "," VERSIONS ",\"layover\":\"\\u001b[2J\"}",
        "{" NODE "," VERSIONS ",\"layover\":\"0123456789012345678901234567890123456789"
        "012345678901234567890123456789\"}",
        "[]", "HELO"};
    NodeHello answer = {.node = 5};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Error *error = hello_to(wrong[i], &answer);
        if (error_code(error) != ERROR_CORRUPT) fail_msg("%s: %s", wrong[i], error_message(error));
        error_free(error);
        assert_int_equal(answer.node, 5);
    }
    assert_ok(hello_to("{" NODE "," VERSIONS ",\"role\":\"node\",\"later\":[1]}", &answer));
    assert_true(answer.node == 0x3f9a0c72d1e4 && answer.is_node);
    assert_ok(hello_to("{" NODE "," VERSIONS "}", &answer));
    assert_false(answer.is_node);
}

static void test_node_hello_says_that_no_protocol_is_common(void **state) {
    (void)state;
    NodeHello answer;
    assert_fails_saying(UNSUPPORTED, "7 to 9 there",
        hello_to("{" NODE ",\"protocol\":{\"min\":7,\"max\":9}}", &answer));
}

static void test_node_hello_calls_a_broken_peer_unreachable(void **state) {
    (void)state;
    BadServer server;
    NodeHello answer;
    bad_server_start(&server, "HTTP/1.1 500 X\r\nConnection: close\r\n\r\n{}");
    assert_fails(UNREACHABLE, hello(server.url, "t", &answer));
    bad_server_stop(&server);
    assert_fails(UNREACHABLE, hello("http://127.0.0.1:1", "t", &answer));
}

static void test_node_hello_reads_questions(void **state) {
    (void)state;
    static const char question[] = "{" NODE ",\"protocol\":{\"min\":1,\"max\":99},\"later\":1}";
    OWN_JSON(body) = NULL;
    uint64_t node;
    int64_t protocol;
    assert_ok(json_body_parse(question, sizeof question - 1, &body));
    assert_ok(node_hello_read(body, &node, &protocol));
    assert_true(node == 0x3f9a0c72d1e4);
    assert_int_equal(protocol, MIGRATION_PROTOCOL_MAX);
    json_object_object_del(body, "node");
    assert_fails(INVALID, node_hello_read(body, &node, &protocol));
}

int test_node_hello(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_node_hello_learns_who_answers),
        cmocka_unit_test(test_node_hello_believes_nothing_that_cannot_be),
        cmocka_unit_test(test_node_hello_says_that_no_protocol_is_common),
        cmocka_unit_test(test_node_hello_calls_a_broken_peer_unreachable),
        cmocka_unit_test(test_node_hello_reads_questions),
    };
    return cmocka_run_group_tests_name("node_hello", tests, NULL, NULL);
}
