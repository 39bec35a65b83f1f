#include <stdio.h>

#include "scheduler/migration/node_hello.h"
#include "store/database/job_id.h"
#include "store/accounts/nodes.h"
#include "tests/scheduler/http_fixtures.h"

enum { TEXT_SIZE = 16384 };

static char text[TEXT_SIZE];
static TestServer west; /* the other home: two are too large for a stack */

static int ask(
    TestServer *server, TestRole role, HttpMethod method, const char *path, const char *json) {
    return test_server_ask(server, role, method, path, json, text, sizeof text);
}

static int add(TestServer *server, const char *name, const char *url, const char *token,
    const char *fingerprint) {
    char json[1024];
    (void)snprintf(json, sizeof json, "{\"node\":\"%s\",\"url\":\"%s\",\"token\":\"%s\"%s%s%s}",
        name, url, token, fingerprint ? ",\"fingerprint\":\"" : "", fingerprint ? fingerprint : "",
        fingerprint ? "\"" : "");
    return ask(server, TEST_LOCAL, HTTP_METHOD_POST, "/v1/nodes", json);
}

static void assert_says(const char *words) {
    if (!strstr(text, words)) fail_msg("%s is not in %s", words, text);
}

static void test_route_nodes_adds_lists_and_removes(void **state) {
    (void)state;
    TestServer OWN_SERVER(home);
    HttpServerOptions tls = {.tls_certificate = test_tls_certificate, .tls_key = test_tls_key};
    Node node;
    test_server_open(&home, NULL);
    test_server_open(&west, &tls);
    const char *token = west.tokens[TEST_NODE];
    assert_int_equal(add(&home, "west", west.url, token, NULL), 409);
    assert_says("has the key sha256//DsaPU6i3vl97CkgYJSy0d+5K+qDgj5dhU6S2B3SzNE4=");
    assert_int_equal(add(&home, "west", west.url, token, test_tls_fingerprint), 200);
    assert_says("\"layover\":\"0.0.test\"");
    assert_null(strstr(text, token));
    assert_ok(nodes_get(home.store, "west", &node));
    assert_true(node.node == west.service.node);
    assert_string_equal(node.token, token);
    assert_int_equal(ask(&home, TEST_LOCAL, HTTP_METHOD_GET, "/v1/nodes", NULL), 200);
    assert_says("\"reachable\":true");
    assert_says("\"error\":null");
    assert_null(strstr(text, token));
    /* the other side knows whose token that is */
    assert_int_equal(ask(&west, TEST_ADMIN, HTTP_METHOD_GET, "/v1/tokens", NULL), 200);
    char number[JOB_ID_NODE_TEXT_SIZE];
    job_id_print_node(home.service.node, number);
    assert_says(number);
    assert_int_equal(ask(&home, TEST_LOCAL, HTTP_METHOD_DELETE, "/v1/nodes/west", NULL), 200);
    assert_int_equal(ask(&home, TEST_LOCAL, HTTP_METHOD_DELETE, "/v1/nodes/west", NULL), 404);
    test_server_close(&west);
}

static void test_route_nodes_refuses_with_the_reason(void **state) {
    (void)state;
    TestServer OWN_SERVER(home);
    test_server_open(&home, NULL);
    test_server_open(&west, NULL);
    const struct {
        const char *name, *url, *token, *fingerprint;
        int status;
        const char *words;
    } cases[] = {
        {"a b", west.url, "t", NULL, 400, "is no name"},
        {"west", "", "t", NULL, 400, "url"},
        {"west", west.url, "", NULL, 400, "token"},
        {"west", west.url, "t", "sha256//x", 400, "fingerprint"},
        {"west", west.url, "t", test_tls_fingerprint, 400, "https"},
        {"west", "http://west.example:80", "t", NULL, 403, "use https"},
        {"west", "http://127.0.0.1:1", "t", NULL, 503, "node west"},
        {"west", "https://127.0.0.1:1", "t", NULL, 503, "node west"},
        {"west", west.url, west.tokens[TEST_USER], NULL, 403, "needs the role node"},
        {"west", west.url, west.tokens[TEST_ADMIN], NULL, 403, "has not the role node"},
        {"west", west.url, "layover-1-x", NULL, 403, "the token is unknown"},
        {"west", home.url, home.tokens[TEST_NODE], NULL, 409, "that is this home"},
        {"west", home.socket, home.tokens[TEST_NODE], NULL, 409, "that is this home"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status = add(&home, cases[i].name, cases[i].url, cases[i].token, cases[i].fingerprint);
        if (status != cases[i].status || !strstr(text, cases[i].words))
            fail_msg("case %zu: %d %s", i, status, text);
    }
    OWN(NodeList, list) = NULL;
    assert_ok(nodes_list(home.store, &list));
    assert_int_equal(list->count, 0);
    home.service.nodes = NULL;
    assert_int_equal(add(&home, "west", west.url, west.tokens[TEST_NODE], NULL), 400);
    assert_says("speaks to no other");
    test_server_close(&west);
}

/* The first node that says hello has the token, and with it the name of a node. */
static void test_route_nodes_binds_a_token_to_one_node(void **state) {
    (void)state;
    static const char one[] = "{\"node\":\"0000000000aa\",\"protocol\":{\"min\":1,\"max\":1}}";
    static const char other[] = "{\"node\":\"0000000000bb\",\"protocol\":{\"min\":1,\"max\":1}}";
    static const char later[] = "{\"node\":\"0000000000aa\",\"protocol\":{\"min\":5,\"max\":6}}";
    TestServer OWN_SERVER(server);
    Caller caller;
    test_server_open(&server, NULL);
    const Accounts *accounts = &server.service.accounts;
    const char *token = server.tokens[TEST_NODE];
    assert_int_equal(ask(&server, TEST_NODE, HTTP_METHOD_POST, "/v1/peer", "{}"), 400);
    assert_int_equal(ask(&server, TEST_NODE, HTTP_METHOD_POST, "/v1/peer", later), 400);
    assert_says("5 to 6 there");
    assert_int_equal(ask(&server, TEST_ADMIN, HTTP_METHOD_POST, "/v1/peer", other), 200);
    assert_says("\"role\":\"admin\"");
    assert_ok(accounts->class_->check_token(accounts->self, token, &caller));
    assert_true(caller.node == 0 && caller.token > 0);
    assert_int_equal(ask(&server, TEST_NODE, HTTP_METHOD_POST, "/v1/peer", one), 200);
    assert_says("\"role\":\"node\"");
    assert_ok(accounts->class_->check_token(accounts->self, token, &caller));
    assert_true(caller.node == 0xaa);
    assert_int_equal(ask(&server, TEST_NODE, HTTP_METHOD_POST, "/v1/peer", one), 200);
    assert_int_equal(ask(&server, TEST_NODE, HTTP_METHOD_POST, "/v1/peer", other), 403);
    assert_says("another node");
}

static Error *insert(Connection *catalog, void *context) { return nodes_add(catalog, context); }

/* Many nodes of which most are gone are listed with what is wrong, in their order. */
static void test_route_nodes_lists_who_is_gone(void **state) {
    (void)state;
    enum { NODES = 20 };
    TestServer OWN_SERVER(home);
    char mark[64];
    test_server_open(&home, NULL);
    test_server_open(&west, NULL);
    for (int i = 0; i < NODES; i++) {
        Node node = {.node = (uint64_t)i + 1};
        (void)snprintf(node.name, sizeof node.name, "n%02d", i);
        (void)snprintf(node.url, sizeof node.url, "%s", i == 7 ? west.url : "http://127.0.0.1:1");
        (void)snprintf(node.token, sizeof node.token, "%s", west.tokens[TEST_NODE]);
        assert_ok(catalog_run(home.catalog, insert, &node));
    }
    assert_int_equal(ask(&home, TEST_LOCAL, HTTP_METHOD_GET, "/v1/nodes", NULL), 200);
    const char *at = text;
    for (int i = 0; i < NODES; i++) {
        (void)snprintf(mark, sizeof mark, "{\"node\":\"n%02d\"", i);
        at = strstr(at, mark);
        assert_non_null(at);
        assert_true(at == text || at[-1] == '\n');
        assert_non_null(strstr(at, "\"reachable\":false"));
    }
    assert_says("another home answers there");
    assert_null(strstr(text, "\"reachable\":true"));
    test_server_close(&west);
}

int test_route_nodes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_route_nodes_adds_lists_and_removes),
        cmocka_unit_test(test_route_nodes_refuses_with_the_reason),
        cmocka_unit_test(test_route_nodes_binds_a_token_to_one_node),
        cmocka_unit_test(test_route_nodes_lists_who_is_gone),
    };
    return cmocka_run_group_tests_name("route_nodes", tests, NULL, NULL);
}
