#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/allocator.h"
#include "scheduler/migration/chunk_batch.h"
#include "store/accounts/tokens.h"
#include "tests/scheduler/job_file_fixtures.h"
#include "tests/scheduler/migration_fixtures.h"

enum { ROWS = 30, BODY_LIMIT_MS = 300 };

static char text[4096];

/* One request to east with a token; answers the status. size: of a body of bytes. */
static int ask(MigrationPair *pair, const char *token, HttpMethod method, const char *path,
    const void *data, size_t size) {
    OWN(HttpClient, client) = NULL;
    HttpClientReply OWN_REPLY(reply) = {0};
    const HttpClientOptions options = {.server = pair->east.url, .token = token};
    const HttpClientCall call = {.method = method, .path = path, .data = data, .data_size = size};
    assert_ok(http_client_open(&options, &client));
    Error *error = http_client_call(client, &call, &reply);
    (void)snprintf(
        text, sizeof text, "%s", error ? error_message(error) : text_builder_get(&reply.text));
    error_free(error);
    return reply.status;
}

static int post(MigrationPair *pair, const char *token, const char *path, const char *body) {
    return ask(pair, token, HTTP_METHOD_POST, path, body, strlen(body));
}

static const char job[] = "/v1/peer/arrivals/00000000000a-1";

static const char *path_of(const char *verb, const char *query) {
    static char path[256];
    (void)snprintf(path, sizeof path, "%s%s?%s", job, verb, query);
    return path;
}

#define KEY "epoch=0&attempt=1"
#define IDENTITY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OFFER "{\"protocol\":1,\"tenant\":\"default\",\"executable\":\"" IDENTITY "\",\"bytes\":1}"

static const struct {
    HttpMethod method;
    const char *verb, *body;
} requests[] = {
    {HTTP_METHOD_POST, "", OFFER},
    {HTTP_METHOD_GET, "", NULL},
    {HTTP_METHOD_DELETE, "", NULL},
    {HTTP_METHOD_POST, "/missing", ""},
    {HTTP_METHOD_POST, "/chunks", ""},
    {HTTP_METHOD_POST, "/rehearsal", ""},
    {HTTP_METHOD_POST, "/prepare", ""},
    {HTTP_METHOD_POST, "/activate", ""},
};
enum { REQUESTS = sizeof requests / sizeof *requests };

static int ask_number(MigrationPair *pair, const char *token, size_t i, const char *query) {
    const char *body = requests[i].body;
    return ask(pair, token, requests[i].method, path_of(requests[i].verb, query), body,
        body ? strlen(body) : 0);
}

static Error *make_token(Connection *catalog, void *context) {
    Token token;
    return tokens_create(catalog, TOKEN_TENANT_NONE, TOKEN_ROLE_NODE, &token, context);
}

static void test_route_arrivals_are_for_nodes_that_said_hello(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    char unbound[TOKEN_TEXT_SIZE];
    assert_ok(catalog_run(pair->east.home.catalog, make_token, unbound));
    const char *const tokens[] = {NULL, "nonsense", pair->east.user, pair->east.admin, unbound};
    for (size_t t = 0; t < sizeof tokens / sizeof *tokens; t++)
        for (size_t i = 0; i < REQUESTS; i++) {
            int status = ask_number(pair, tokens[t], i, KEY);
            if (status != (t < 2 ? 401 : 403))
                fail_msg("token %zu, %zu: %d %s", t, i, status, text);
        }
    for (size_t t = 0; t < sizeof tokens / sizeof *tokens; t++) {
        int expected = t < 2 ? 401 : 403;
        assert_int_equal(ask(pair, tokens[t], HTTP_METHOD_GET,
                             "/v1/peer/departures/00000000000a-1?" KEY, NULL, 0),
            expected);
        assert_int_equal(
            post(pair, tokens[t], "/v1/peer/jobs/00000000000a-1/fence?epoch=7", ""), expected);
    }
    /* once it has said who it is, it may offer */
    assert_int_equal(post(pair, unbound, "/v1/peer",
                         "{\"node\":\"0000000000aa\",\"protocol\":{\"min\":1,\"max\":1}}"),
        200);
    assert_int_equal(ask_number(pair, unbound, 0, KEY), 200);
    /* and the other node neither sees nor ends that */
    for (size_t i = 3; i < REQUESTS; i++)
        assert_int_equal(ask_number(pair, pair->east.token, i, KEY), 404);
    assert_int_equal(ask_number(pair, pair->east.token, 2, KEY), 200);
    assert_int_equal(ask_number(pair, pair->east.token, 1, KEY), 200);
    assert_non_null(strstr(text, "unknown"));
    assert_int_equal(ask_number(pair, unbound, 1, KEY), 200);
    assert_non_null(strstr(text, "incoming"));
    assert_int_equal(ask_number(pair, unbound, 2, KEY), 200);
    migration_pair_check(pair);
}

static void test_route_arrivals_refuse_keys_that_cannot_be(void **state) {
    (void)state;
    static const char *const queries[] = {"", "epoch=0", "attempt=1", "epoch=-1&attempt=1",
        "epoch=0&attempt=0", "epoch=0&attempt=-1", "epoch=9223372036854775808&attempt=1",
        "epoch=0&attempt=99999999999999999999", "epoch=9223372036854775807&attempt=1",
        "epoch=9007199254740993&attempt=1", "epoch=0&attempt=9223372036854775807",
        "epoch=x&attempt=1", "epoch=0&attempt=1&more=1"};
    OWN_PAIR(pair) = migration_pair_open();
    for (size_t q = 0; q < sizeof queries / sizeof *queries; q++)
        for (size_t i = 0; i < REQUESTS; i++) {
            int status = ask_number(pair, pair->east.token, i, queries[q]);
            if (status != 400) fail_msg("%s, %zu: %d %s", queries[q], i, status, text);
        }
    assert_int_equal(post(pair, pair->east.token,
                         "/v1/peer/jobs/00000000000a-1/fence?epoch=9223372036854775807", ""),
        400);
    assert_int_equal(
        ask(pair, pair->east.token, HTTP_METHOD_GET, "/v1/peer/arrivals/x?" KEY, NULL, 0), 404);
    migration_pair_check(pair);
}

static void test_route_arrivals_refuse_offers_that_are_none(void **state) {
    (void)state;
    static const char *const bodies[] = {"", "{", "[]", "{}", "\xff",
        "{\"protocol\":1,\"tenant\":\"default\",\"executable\":\"" IDENTITY "\",\"bytes\":-1}",
        "{\"protocol\":1,\"tenant\":\"default\",\"executable\":\"x\",\"bytes\":1}",
        "{\"protocol\":1,\"tenant\":\"../etc\",\"executable\":\"" IDENTITY "\",\"bytes\":1}",
        "{\"protocol\":1,\"tenant\":7,\"executable\":\"" IDENTITY "\",\"bytes\":1}",
        "{\"protocol\":0,\"tenant\":\"default\",\"executable\":\"" IDENTITY "\",\"bytes\":1}",
        "{\"protocol\":2,\"tenant\":\"default\",\"executable\":\"" IDENTITY "\",\"bytes\":1}",
        "{\"protocol\":1,\"tenant\":\"default\",\"executable\":\"" IDENTITY
        "\",\"bytes\":1,\"more\":1}"};
    OWN_PAIR(pair) = migration_pair_open();
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        int status = post(pair, pair->east.token, path_of("", KEY), bodies[i]);
        if (status != 400) fail_msg("%s: %d %s", bodies[i], status, text);
    }
    migration_pair_check(pair);
}

static void test_route_arrivals_refuse_bodies_that_are_none(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    const char *token = pair->east.token;
    void *large;
    size_t size = ((size_t)CHUNK_NAMES_MAX + 1) * CHUNK_NAME_BYTES;
    assert_ok(memory_alloc(size, 1, &large));
    for (size_t at = DIGEST_SIZE; at < size; at += CHUNK_NAME_BYTES) ((uint8_t *)large)[at] = 1;
    assert_int_equal(ask_number(pair, token, 0, KEY), 200);
    const struct {
        const char *verb;
        size_t size;
        int status;
    } cases[] = {
        {"/missing", 0, 200},
        {"/missing", 35, 400},
        {"/missing", 36, 200},
        {"/missing", size - CHUNK_NAME_BYTES, 200}, /* as many as may be */
        {"/missing", size, 400},
        {"/missing", (64 << 20) + 1, 413},
        {"/chunks", 0, 200},
        {"/chunks", 39, 400},
        {"/chunks", 40, 400}, /* a chunk without bytes */
        {"/chunks", CHUNK_BATCH_BYTES_MAX, 400},
        {"/chunks", CHUNK_BATCH_BYTES_MAX + 1, 400},
        {"/rehearsal", 0, 400},
        {"/rehearsal", 4096, 400},
        {"/prepare", 0, 400},
        {"/prepare", 1 << 20, 400},
    };
    memory_free(large);
    assert_ok(memory_alloc((64 << 20) + 1, 1, &large));
    migration_node_hide(&pair->west); /* asked, it would say that it knows of no such attempt */
    assert_int_equal(ask_number(pair, token, 0, KEY), 200);
    for (size_t at = DIGEST_SIZE; at < size; at += CHUNK_NAME_BYTES) ((uint8_t *)large)[at] = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status =
            ask(pair, token, HTTP_METHOD_POST, path_of(cases[i].verb, KEY), large, cases[i].size);
        if (status != cases[i].status) fail_msg("case %zu: %d %s", i, status, text);
    }
    memory_free(large);
    assert_int_equal(ask_number(pair, token, 1, KEY), 200);
    assert_non_null(strstr(text, "incoming")); /* none of it has ended the attempt */
    assert_int_equal(ask_number(pair, token, 2, KEY), 200);
    migration_pair_check(pair);
}

static int connect_to(MigrationNode *node) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons((uint16_t)strtoul(strrchr(node->address, ':') + 1, NULL, 10));
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(connection, (struct sockaddr *)&address, sizeof address), 0);
    return connection;
}

/* Half a body and then nothing: the connection ends, others are served meanwhile and after. */
static void test_route_arrivals_end_what_stalls(void **state) {
    (void)state;
    enum { STALLED = 12 };
    OWN_PAIR(pair) = migration_pair_open();
    int connections[STALLED];
    char head[1024], byte;
    migration_node_hide(&pair->east);
    pair->east.body_limit_ms = BODY_LIMIT_MS;
    migration_node_show(&pair->east);
    assert_int_equal(ask_number(pair, pair->east.token, 0, KEY), 200);
    for (int i = 0; i < STALLED; i++) {
        connections[i] = connect_to(&pair->east);
        int size = snprintf(head, sizeof head,
            "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 1000\r\n"
            "\r\nhalf",
            path_of(i % 2 ? "/chunks" : "/prepare", KEY), pair->east.token);
        assert_int_equal(send(connections[i], head, (size_t)size, MSG_NOSIGNAL), size);
    }
    assert_int_equal(ask_number(pair, pair->east.token, 1, KEY), 200);
    for (int i = 0; i < STALLED; i++) {
        struct pollfd item = {.fd = connections[i], .events = POLLIN};
        assert_int_equal(poll(&item, 1, 60000), 1); /* an answer, or its end */
        while (recv(connections[i], &byte, 1, 0) > 0) continue;
        (void)close(connections[i]);
    }
    assert_int_equal(ask_number(pair, pair->east.token, 2, KEY), 200);
    migration_pair_check(pair);
}

int test_route_arrivals(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_route_arrivals_are_for_nodes_that_said_hello),
        cmocka_unit_test(test_route_arrivals_refuse_keys_that_cannot_be),
        cmocka_unit_test(test_route_arrivals_refuse_offers_that_are_none),
        cmocka_unit_test(test_route_arrivals_refuse_bodies_that_are_none),
        cmocka_unit_test(test_route_arrivals_end_what_stalls),
    };
    return cmocka_run_group_tests_name("route_arrivals", tests, NULL, NULL);
}
