#include "scheduler/http/client/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "tests/scheduler/bad_server.h"
#include "tests/scheduler/http_fixtures.h"

static Error *never(void *context, const char *line) {
    (void)context, (void)line;
    return NULL;
}

static Error *ask(const char *url, bool lines) {
    OWN(HttpClient, client) = NULL;
    HttpClientReply OWN_REPLY(reply) = {0};
    HttpClientOptions options = {.server = url, .connect_limit_ms = 500, .silence_limit_s = 1};
    HttpClientCall call = {.path = "/v1/models", .visit = lines ? never : NULL};
    TRY(http_client_open(&options, &client));
    return http_client_call(client, &call, &reply);
}

#define REFUSAL(status, body) "HTTP/1.1 " status " X\r\nConnection: close\r\n\r\n" body

static void test_http_client_turns_refusals_into_errors(void **state) {
    (void)state;
    static const struct {
        const char *answer;
        ErrorCode code;
        const char *text;
    } cases[] = {
        {REFUSAL("404", "{\"error\":\"no model m\",\"code\":\"NOT_FOUND\"}"), ERROR_NOT_FOUND,
            "no model m"},
        {REFUSAL("400", "{\"error\":\"bits\",\"code\":\"CORRUPT\"}"), ERROR_CORRUPT, "bits"},
        {REFUSAL("409", "{\"error\":\"it ended\",\"code\":\"CANCELLED\"}"), ERROR_CANCELLED,
            "ended"},
        /* a code that is none of this status, or none at all: the status decides */
        {REFUSAL("403", "{\"error\":\"x\",\"code\":\"NOT_FOUND\"}"), ERROR_REFUSED, "x"},
        {REFUSAL("429", "{\"error\":\"x\",\"code\":\"WHAT\"}"), ERROR_EXHAUSTED, "x"},
        {REFUSAL("401", "<html>"), ERROR_UNAUTHENTICATED, "401"},
        {REFUSAL("404", ""), ERROR_NOT_FOUND, "404"},
        {REFUSAL("409", "{}"), ERROR_CONFLICT, "409"},
        {REFUSAL("413", "[]"), ERROR_TOO_LARGE, "413"},
        {REFUSAL("405", ""), ERROR_METHOD, "405"},
        {REFUSAL("418", ""), ERROR_INVALID, "418"},
        {REFUSAL("500", ""), ERROR_INTERNAL, "500"},
        {REFUSAL("503", ""), ERROR_UNREACHABLE, "503"},
        {REFUSAL("507", ""), ERROR_IO, "507"},
        {REFUSAL("302", ""), ERROR_CORRUPT, "302"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        BadServer server;
        bad_server_start(&server, cases[i].answer);
        Error *error = ask(server.url, false);
        if (error_code(error) != cases[i].code || !strstr(error_message(error), cases[i].text))
            fail_msg("case %zu: %s", i, error_message(error));
        error_free(error);
        bad_server_stop(&server);
    }
}

static void test_http_client_survives_bad_servers(void **state) {
    (void)state;
    static const char *const answers[] = {NULL, "", "\r\n\r\n", "HTTP/1.1", "HELO\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
        "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        "HTTP/1.1 999999 X\r\n\r\n"};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        BadServer server;
        bad_server_start(&server, answers[i]);
        for (int lines = 0; lines < 2; lines++) {
            Error *error = ask(server.url, lines);
            if (!error) fail_msg("answer %zu was taken", i);
            error_free(error);
        }
        bad_server_stop(&server);
    }
    BadServer server;
    bad_server_start(&server, REFUSAL("200", "{\"a\":1}\n{\"cut"));
    assert_fails_saying(CORRUPT, "ends within a line", ask(server.url, true));
    bad_server_stop(&server);
}

static void test_http_client_says_that_nobody_answers(void **state) {
    (void)state;
    assert_fails(UNREACHABLE, ask("/nowhere/socket", false));
    assert_fails(UNREACHABLE, ask("unix:/nowhere/socket", false));
    assert_fails(UNREACHABLE, ask("http://127.0.0.1:1", false));
    assert_fails(INVALID, ask("ftp://x", false));
    assert_fails(INVALID, ask("unix:", false));
    HttpClient *client;
    HttpClientOptions options = {.server = "/x", .token = "a\r\nX: y"};
    assert_fails(INVALID, http_client_open(&options, &client));
}

static void test_http_client_writes_files_only_when_all_came(void **state) {
    (void)state;
    char folder[64], path[128];
    BadServer server;
    test_folder_create(folder);
    (void)snprintf(path, sizeof path, "%s/out", folder);
    assert_ok(file_write_atomic(path, "old", 3));
    static const char *const answers[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", REFUSAL("404", "{}")};
    for (size_t i = 0; i < 2; i++) {
        OWN(HttpClient, client) = NULL;
        HttpClientReply OWN_REPLY(reply) = {0};
        uint8_t *data;
        size_t size;
        bad_server_start(&server, answers[i]);
        HttpClientOptions options = {.server = server.url};
        HttpClientCall call = {.path = "/x", .output = path};
        assert_ok(http_client_open(&options, &client));
        Error *error = http_client_call(client, &call, &reply);
        assert_non_null(error);
        error_free(error);
        assert_ok(file_read(path, 100, &data, &size));
        assert_int_equal(size, 3);
        memory_unmap(data, size);
        bad_server_stop(&server);
    }
    test_folder_remove(folder);
}

static bool at_once(void *context) {
    (void)context;
    return true;
}

static void test_http_client_can_be_interrupted(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char text[256];
    test_server_open(&server, NULL);
    assert_int_equal(
        test_server_submit(&server, TEST_LOCAL, "{\"model\":\"m\"}", text, sizeof text), 200);
    OWN(HttpClient, client) = test_server_client(&server, TEST_LOCAL);
    HttpClientReply OWN_REPLY(reply) = {0};
    HttpClientCall call = {
        .path = "/v1/jobs/0000000000aa-1/watch", .visit = never, .interrupted = at_once};
    assert_fails(INTERRUPTED, http_client_call(client, &call, &reply));
}

static void test_http_client_encodes_paths(void **state) {
    (void)state;
    TextBuilder OWN_TEXT(path) = {0};
    text_append(&path, "/v1");
    http_client_path(&path, "a/b c");
    http_client_query(&path, "x", "1&2");
    http_client_query(&path, "y", "\xc3\xa4");
    assert_string_equal(text_builder_get(&path), "/v1/a%2Fb%20c?x=1%262&y=%C3%A4");
}

static void test_http_client_trusts_the_pinned_key_alone(void **state) {
    (void)state;
    static const char other[] = "sha256//AAAAU6i3vl97CkgYJSy0d+5K+qDgj5dhU6S2B3SzNE4=";
    TestServer OWN_SERVER(server);
    char text[256];
    HttpServerOptions tls = {.tls_certificate = test_tls_certificate, .tls_key = test_tls_key};
    test_server_open(&server, &tls);
    assert_int_equal(
        test_server_ask(&server, TEST_USER, HTTP_METHOD_GET, "/v1/models", NULL, text, sizeof text),
        200);
    const char *keys[] = {other, NULL};
    for (size_t i = 0; i < 2; i++) {
        OWN(HttpClient, client) = NULL;
        HttpClientReply OWN_REPLY(reply) = {0};
        HttpClientOptions options = {
            .server = server.url, .token = server.tokens[TEST_USER], .pinned_key = keys[i]};
        HttpClientCall call = {.path = "/v1/models"};
        assert_ok(http_client_open(&options, &client));
        if (keys[i])
            assert_fails_saying(REFUSED, "another key", http_client_call(client, &call, &reply));
        else
            assert_fails(UNREACHABLE, http_client_call(client, &call, &reply));
    }
    HttpClient *client;
    HttpClientOptions options = {
        .server = "http://127.0.0.1:1", .pinned_key = test_tls_fingerprint};
    assert_fails_saying(INVALID, "https", http_client_open(&options, &client));
    options = (HttpClientOptions){.server = "https://127.0.0.1:1", .pinned_key = "/a/file"};
    assert_fails_saying(INVALID, "base64", http_client_open(&options, &client));
}

/* Takes bodies and keeps its connections. */
typedef struct BodyServer {
    int listener, connections, requests;
    pthread_t thread;
    size_t got;    /* bytes of bodies */
    Digest digest; /* of the last whole body */
    bool asked_first;
    char url[64];
} BodyServer;

/* False: the connection ended. */
static bool take_body(BodyServer *server, int connection, char *head, size_t head_size) {
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
    static char bytes[1 << 16];
    size_t size = 0;
    char *end = NULL;
    head[0] = 0;
    while (!(end = strstr(head, "\r\n\r\n"))) {
        ssize_t got = recv(connection, head + size, head_size - 1 - size, 0);
        if (got <= 0) return false;
        head[size += (size_t)got] = 0;
    }
    if (strcasestr(head, "\nExpect:")) server->asked_first = true;
    const char *length = strcasestr(head, "\nContent-Length:");
    size_t left = length ? strtoul(length + strlen("\nContent-Length:"), NULL, 10) : 0;
    OWN(DigestStream, stream) = NULL;
    assert_ok(digest_stream_create(&stream));
    size_t have = size - (size_t)(end + 4 - head);
    assert_ok(digest_stream_add(stream, end + 4, have));
    server->got += have;
    for (left -= have; left;) {
        ssize_t got = recv(connection, bytes, sizeof bytes, 0);
        if (got <= 0) return false;
        assert_ok(digest_stream_add(stream, bytes, (size_t)got));
        server->got += (size_t)got;
        left -= (size_t)got;
    }
    assert_ok(digest_stream_finish(stream, &server->digest));
    server->requests++;
    return send(connection, answer, sizeof answer - 1, MSG_NOSIGNAL) == sizeof answer - 1;
}

static void *serve_bodies(void *argument) {
    BodyServer *server = argument;
    char head[1 << 12];
    for (;;) {
        int connection = accept(server->listener, NULL, NULL);
        if (connection < 0) return NULL;
        server->connections++;
        while (take_body(server, connection, head, sizeof head)) {
        }
        (void)close(connection);
    }
}

static void start_bodies(BodyServer *server, HttpClient **out) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *server = (BodyServer){.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(server->listener, 4), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &size), 0);
    (void)snprintf(server->url, sizeof server->url, "http://127.0.0.1:%d", ntohs(address.sin_port));
    assert_int_equal(pthread_create(&server->thread, NULL, serve_bodies, server), 0);
    HttpClientOptions options = {.server = server->url};
    assert_ok(http_client_open(&options, out));
}

/* After the client is closed. */
static void stop_bodies(BodyServer *server) {
    (void)shutdown(server->listener, SHUT_RDWR);
    (void)pthread_join(server->thread, NULL);
    (void)close(server->listener);
}

enum { BODY_SIZE = 32 << 20 };

static uint8_t *make_body(Digest *out_digest) {
    uint8_t *data = malloc(BODY_SIZE);
    assert_non_null(data);
    for (uint32_t i = 0; i < BODY_SIZE; i++) data[i] = (uint8_t)(i * UINT32_C(2654435761) >> 24);
    assert_ok(digest_sha256(data, BODY_SIZE, out_digest));
    return data;
}

static void test_http_client_sends_bytes_over_one_connection(void **state) {
    (void)state;
    BodyServer server;
    HttpClient *client;
    Digest expected;
    uint8_t *data = make_body(&expected);
    start_bodies(&server, &client);
    for (int i = 0; i < 3; i++) {
        HttpClientReply OWN_REPLY(reply) = {0};
        HttpClientCall call = {
            .method = HTTP_METHOD_POST, .path = "/x", .data = data, .data_size = BODY_SIZE};
        assert_ok(http_client_call(client, &call, &reply));
        assert_string_equal(text_builder_get(&reply.text), "{}");
    }
    HttpClientReply OWN_REPLY(reply) = {0};
    HttpClientCall empty = {.method = HTTP_METHOD_POST, .path = "/x", .data = data};
    HttpClientCall get = {.path = "/x"};
    assert_true(digest_equal(&server.digest, &expected));
    assert_ok(http_client_call(client, &empty, &reply));
    http_client_reply_deinit(&reply);
    assert_ok(http_client_call(client, &get, &reply));
    http_client_close(client);
    stop_bodies(&server);
    assert_int_equal(server.connections, 1);
    assert_int_equal(server.requests, 5);
    assert_int_equal(server.got, 3 * (size_t)BODY_SIZE);
    assert_false(server.asked_first);
    free(data);
}

static bool after_a_while(void *context) {
    uint64_t *start = context, now = clock_now_ns(clock_real());
    if (!*start) *start = now;
    return now - *start > UINT64_C(300) * 1000 * 1000;
}

/* At 1 MiB a second 32 do not go within what the interruption leaves, while without a limit the
 * whole body would have gone many times over. */
static void test_http_client_sends_as_slowly_as_it_is_told(void **state) {
    (void)state;
    BodyServer server;
    HttpClient *client;
    Digest expected;
    uint64_t start = 0;
    uint8_t *data = make_body(&expected);
    start_bodies(&server, &client);
    HttpClientReply OWN_REPLY(reply) = {0};
    HttpClientCall call = {.method = HTTP_METHOD_POST,
        .path = "/x",
        .data = data,
        .data_size = BODY_SIZE,
        .bytes_per_s = 1 << 20,
        .interrupted = after_a_while,
        .interrupted_context = &start};
    assert_fails(INTERRUPTED, http_client_call(client, &call, &reply));
    http_client_close(client);
    stop_bodies(&server);
    assert_in_range(server.got, 1, BODY_SIZE - 1);
    free(data);
}

int test_http_client(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_client_turns_refusals_into_errors),
        cmocka_unit_test(test_http_client_survives_bad_servers),
        cmocka_unit_test(test_http_client_says_that_nobody_answers),
        cmocka_unit_test(test_http_client_writes_files_only_when_all_came),
        cmocka_unit_test(test_http_client_can_be_interrupted),
        cmocka_unit_test(test_http_client_encodes_paths),
        cmocka_unit_test(test_http_client_trusts_the_pinned_key_alone),
        cmocka_unit_test(test_http_client_sends_bytes_over_one_connection),
        cmocka_unit_test(test_http_client_sends_as_slowly_as_it_is_told),
    };
    return cmocka_run_group_tests_name("http_client", tests, NULL, NULL);
}
