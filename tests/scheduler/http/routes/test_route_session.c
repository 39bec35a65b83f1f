#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/http/server/http_browser.h"
#include "tests/scheduler/http_fixtures.h"

enum { TEXT_SIZE = 16384 };

/* The headers of the daemon's own page, and of another site's. */
#define HERE "Origin: http://x\r\nSec-Fetch-Site: same-origin\r\n"
#define ELSEWHERE "Origin: http://evil\r\nSec-Fetch-Site: cross-site\r\n"

/* One request with these headers; the answer with its head in text. */
static int ask(TestServer *server, bool tcp, const char *line, const char *headers,
    const char *body, char text[TEXT_SIZE]) {
    static char request[TEXT_SIZE];
    int status = 0;
    const int descriptor = test_connect(server, tcp);
    (void)snprintf(request, sizeof request,
        "%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %zu\r\n%s\r\n%s", line,
        strlen(body), headers, body);
    test_send(descriptor, request);
    (void)test_receive(descriptor, text, TEXT_SIZE, 5000);
    (void)close(descriptor);
    (void)sscanf(text, "HTTP/1.1 %d", &status);
    return status;
}

static int sign_in(TestServer *server, const char *token, const char *headers, char *text) {
    char body[512];
    (void)snprintf(body, sizeof body, "{\"token\":\"%s\"}", token);
    return ask(server, true, "POST /v1/session", headers, body, text);
}

/* Signs in and writes the header Cookie. */
static void sign_in_as(TestServer *server, TestRole role, char out_cookie[256]) {
    char text[TEXT_SIZE];
    assert_int_equal(sign_in(server, server->tokens[role], HERE, text), 200);
    assert_null(strstr(text, server->tokens[role]));
    const char *cookie = strstr(text, "Set-Cookie: ");
    assert_non_null(cookie);
    cookie += strlen("Set-Cookie: ");
    (void)snprintf(out_cookie, 256, "Cookie: %.*s\r\n", (int)strcspn(cookie, ";"), cookie);
}

/* A request by cookie; headers: more of them. */
static int ask_by(TestServer *server, const char *line, const char *cookie, const char *headers,
    const char *body, char text[TEXT_SIZE]) {
    char all[512];
    (void)snprintf(all, sizeof all, "%s%s", cookie, headers);
    return ask(server, true, line, all, body, text);
}

static void test_route_session_signs_in_and_out(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE], user[256], admin[256], wrong[256];
    test_server_open(&server, NULL);
    sign_in_as(&server, TEST_USER, user);
    sign_in_as(&server, TEST_ADMIN, admin);
    assert_int_equal(ask_by(&server, "GET /v1/session", user, "", "", text), 200);
    assert_non_null(strstr(text, "{\"role\":\"user\",\"tenant\":\"alice\",\"left_seconds\":43200"));
    assert_int_equal(ask_by(&server, "GET /v1/tokens", user, HERE, "", text), 403);
    assert_int_equal(ask_by(&server, "GET /v1/tokens", admin, HERE, "", text), 200);
    /* one digit of the secret differs */
    (void)snprintf(wrong, sizeof wrong, "%s", user);
    wrong[strlen(wrong) - 3] = wrong[strlen(wrong) - 3] == '2' ? '3' : '2';
    assert_int_equal(ask_by(&server, "GET /v1/session", wrong, HERE, "", text), 401);
    assert_int_equal(ask_by(&server, "DELETE /v1/session", user, HERE, "", text), 200);
    assert_non_null(strstr(text, "=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"));
    assert_int_equal(ask_by(&server, "GET /v1/session", user, "", "", text), 401);
    server.clock.now_ns += HTTP_SESSION_LIFE_S * SECOND_NS;
    assert_int_equal(ask_by(&server, "GET /v1/session", admin, "", "", text), 401);
}

static void test_route_session_ends_with_its_token(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE], user[256];
    test_server_open(&server, NULL);
    sign_in_as(&server, TEST_USER, user);
    assert_int_equal(ask_by(&server, "GET /v1/jobs", user, "", "", text), 200);
    assert_int_equal(
        test_server_ask(&server, TEST_ADMIN, HTTP_METHOD_DELETE, "/v1/tokens/1", NULL, NULL, 0),
        200);
    assert_int_equal(ask_by(&server, "GET /v1/jobs", user, "", "", text), 401);
}

/* Without the headers that a browser adds, with those of another site's page, or with a token that
 * may not sign in. */
static void test_route_session_refuses_other_sign_ins(void **state) {
    (void)state;
    static const char *const others[] = {"", ELSEWHERE, "Origin: null\r\n", "Origin: http://y\r\n",
        "Sec-Fetch-Site: none\r\n", "Sec-Fetch-Site: same-site\r\nOrigin: http://x\r\n"};
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE], longer[400];
    test_server_open(&server, NULL);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(sign_in(&server, server.tokens[TEST_USER], others[i], text), 403);
        assert_null(strstr(text, "Set-Cookie"));
    }
    assert_int_equal(sign_in(&server, server.tokens[TEST_NODE], HERE, text), 403);
    assert_int_equal(sign_in(&server, "", HERE, text), 401);
    memset(longer, 'z', sizeof longer);
    longer[sizeof longer - 1] = 0;
    assert_int_equal(sign_in(&server, longer, HERE, text), 401);
    assert_null(strstr(text, "zzz"));
    assert_int_equal(ask(&server, true, "POST /v1/session", HERE, "{}", text), 400);
    assert_int_equal(ask(&server, true, "POST /v1/session", HERE, "{\"token\":1}", text), 400);
    assert_int_equal(
        ask(&server, true, "POST /v1/session?token=x", HERE, "{\"token\":\"x\"}", text), 400);
    memset(text, 'x', 5000);
    text[5000] = 0;
    char large[5002];
    (void)snprintf(large, sizeof large, "%s", text);
    assert_int_equal(ask(&server, true, "POST /v1/session", HERE, large, text), 413);
}

/* A page of another site makes the browser of a user who is signed in send its cookie. */
static void test_route_session_refuses_requests_of_other_sites(void **state) {
    (void)state;
    static const char *const changes[] = {"POST /v1/jobs/0000000000aa-1/cancel",
        "POST /v1/repository", "DELETE /v1/session", "DELETE /v1/models/m", "POST /v1/drain"};
    static const char *const others[] = {"", ELSEWHERE, "Origin: null\r\n",
        "Origin: http://x.evil\r\n", "Sec-Fetch-Site: none\r\n", "Sec-Fetch-Site: same-site\r\n"};
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE], admin[256];
    test_server_open(&server, NULL);
    sign_in_as(&server, TEST_ADMIN, admin);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        for (size_t j = 0; j < sizeof others / sizeof *others; j++)
            assert_int_equal(ask_by(&server, changes[i], admin, others[j], "", text), 403);
    assert_int_equal(ask_by(&server, "GET /v1/tokens", admin, ELSEWHERE, "", text), 403);
    assert_int_equal(
        ask_by(&server, "GET /v1/tokens", admin, "Sec-Fetch-Site: none\r\n", "", text), 200);
    assert_int_equal(
        ask_by(&server, "POST /v1/jobs/0000000000aa-1/cancel", admin, HERE, "", text), 404);
}

/* What a session could make, and what would stay when it has ended. */
static void test_route_session_makes_nothing_that_outlives_it(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE], admin[256];
    test_server_open(&server, NULL);
    sign_in_as(&server, TEST_ADMIN, admin);
    assert_int_equal(
        ask_by(&server, "POST /v1/tokens", admin, HERE, "{\"role\":\"admin\"}", text), 403);
    assert_int_equal(ask_by(&server, "POST /v1/nodes", admin, HERE,
                         "{\"node\":\"n\",\"url\":\"http://127.0.0.1:1\",\"token\":\"x\"}", text),
        403);
}

/* The unix socket, forwarded to a port: a browser is no administrator there without a token. */
static void test_route_session_is_wanted_of_browsers_on_the_unix_socket(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE], cookie[256];
    test_server_open(&server, NULL);
    assert_int_equal(ask(&server, false, "GET /v1/tokens", "", "", text), 200);
    assert_int_equal(ask(&server, false, "GET /v1/tokens", HERE, "", text), 401);
    assert_int_equal(ask(&server, false, "GET /v1/tokens", ELSEWHERE, "", text), 401);
    assert_int_equal(ask(&server, false, "POST /v1/drain", "Origin: null\r\n", "", text), 401);
    assert_int_equal(ask(&server, false, "GET /v1/tokens", "Cookie: a=b\r\n", "", text), 401);
    sign_in_as(&server, TEST_ADMIN, cookie);
    assert_int_equal(ask(&server, false, "GET /v1/tokens", cookie, "", text), 200);
}

/* Wrong tokens leave nothing behind, and the right one still signs in. */
static void test_route_session_survives_many_attempts(void **state) {
    (void)state;
    enum { ATTEMPTS = 200 };
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE], cookie[256], token[128];
    test_server_open(&server, NULL);
    sign_in_as(&server, TEST_USER, cookie);
    for (int i = 0; i < ATTEMPTS; i++) {
        (void)snprintf(token, sizeof token, "layover-1-%064d", i);
        if (sign_in(&server, token, HERE, text) != 401) fail_msg("%s", text);
    }
    assert_int_equal(ask_by(&server, "GET /v1/session", cookie, "", "", text), 200);
    sign_in_as(&server, TEST_USER, cookie);
}

int test_route_session(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_route_session_signs_in_and_out),
        cmocka_unit_test(test_route_session_ends_with_its_token),
        cmocka_unit_test(test_route_session_refuses_other_sign_ins),
        cmocka_unit_test(test_route_session_refuses_requests_of_other_sites),
        cmocka_unit_test(test_route_session_makes_nothing_that_outlives_it),
        cmocka_unit_test(test_route_session_is_wanted_of_browsers_on_the_unix_socket),
        cmocka_unit_test(test_route_session_survives_many_attempts),
    };
    return cmocka_run_group_tests_name("route_session", tests, NULL, NULL);
}
