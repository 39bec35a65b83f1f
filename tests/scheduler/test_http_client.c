#include "scheduler/http/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/file.h"
#include "tests/scheduler/http_fixtures.h"

/* Answers every connection with the same bytes, whatever it is asked. */
typedef struct BadServer {
    int listener;
    pthread_t thread;
    const char *answer; /* NULL: closes at once */
    char url[64];
} BadServer;

static void *serve(void *argument) {
    BadServer *server = argument;
    char request[4096];
    for (;;) {
        int connection = accept(server->listener, NULL, NULL);
        if (connection < 0) return NULL;
        if (server->answer) {
            (void)recv(connection, request, sizeof request, 0);
            (void)send(connection, server->answer, strlen(server->answer), MSG_NOSIGNAL);
        }
        (void)shutdown(connection, SHUT_WR);
        (void)close(connection);
    }
}

static void start_bad(BadServer *server, const char *answer) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server->answer = answer;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(server->listener, 4), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &size), 0);
    (void)snprintf(server->url, sizeof server->url, "http://127.0.0.1:%d", ntohs(address.sin_port));
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void stop_bad(BadServer *server) {
    (void)shutdown(server->listener, SHUT_RDWR);
    (void)pthread_join(server->thread, NULL);
    (void)close(server->listener);
}

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
        start_bad(&server, cases[i].answer);
        Error *error = ask(server.url, false);
        if (error_code(error) != cases[i].code || !strstr(error_message(error), cases[i].text))
            fail_msg("case %zu: %s", i, error_message(error));
        error_free(error);
        stop_bad(&server);
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
        start_bad(&server, answers[i]);
        for (int lines = 0; lines < 2; lines++) {
            Error *error = ask(server.url, lines);
            if (!error) fail_msg("answer %zu was taken", i);
            error_free(error);
        }
        stop_bad(&server);
    }
    BadServer server;
    start_bad(&server, REFUSAL("200", "{\"a\":1}\n{\"cut"));
    assert_fails_saying(CORRUPT, "ends within a line", ask(server.url, true));
    stop_bad(&server);
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
        start_bad(&server, answers[i]);
        HttpClientOptions options = {.server = server.url};
        HttpClientCall call = {.path = "/x", .output = path};
        assert_ok(http_client_open(&options, &client));
        Error *error = http_client_call(client, &call, &reply);
        assert_non_null(error);
        error_free(error);
        assert_ok(file_read(path, 100, &data, &size));
        assert_int_equal(size, 3);
        memory_unmap(data, size);
        stop_bad(&server);
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

int test_http_client(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_client_turns_refusals_into_errors),
        cmocka_unit_test(test_http_client_survives_bad_servers),
        cmocka_unit_test(test_http_client_says_that_nobody_answers),
        cmocka_unit_test(test_http_client_writes_files_only_when_all_came),
        cmocka_unit_test(test_http_client_can_be_interrupted),
        cmocka_unit_test(test_http_client_encodes_paths),
    };
    return cmocka_run_group_tests_name("http_client", tests, NULL, NULL);
}
