#include "scheduler/http/server/http_service.h"

#include <stdio.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/file.h"
#include "tests/scheduler/http_fixtures.h"

enum { TEXT_SIZE = 16384 };

/* What a route is asked with, and what it answers to the user who owns the model m and the job, and
 * to another tenant's user. */
typedef struct RouteCase {
    const char *body; /* JSON; NULL: none, or a file for STREAM */
    int owner, other; /* status */
} RouteCase;

/* The routes that are not as get_case says. */
static const RouteCase cases[ROUTE_COUNT] = {
    [ROUTE_PAGE_FILE] = {NULL, 404, 404}, /* the page has no such file */
    [ROUTE_SESSION_BEGIN] = {"{}", 400, 400},
    [ROUTE_SESSION_END] = {NULL, 409, 409},    /* a token shows no session */
    [ROUTE_MODEL_REGISTER] = {NULL, 200, 200}, /* into its own models */
    [ROUTE_MODEL_ALIAS] = {"{\"alias\":\"prod\",\"version\":1}", 200, 404},
    [ROUTE_INFER] = {"{\"inputs\":[]}", 200, 404},
    [ROUTE_INFER_VERSION] = {"{\"inputs\":[]}", 200, 404},
    [ROUTE_JOB_SUBMIT] = {"{}", 400, 400}, /* no multipart body: see test_route_submit.c */
    [ROUTE_JOB_REMOVE] = {NULL, 409, 404},
    [ROUTE_JOB_RESUME] = {NULL, 409, 404},
    [ROUTE_JOB_MIGRATE] = {"{\"to\":\"n\"}", 404, 404}, /* its jobs stand in no store */
    [ROUTE_JOB_MIGRATION] = {NULL, 404, 404},
    [ROUTE_JOB_ADOPT] = {"{\"source_is_dead\":true}", 403, 403},
    [ROUTE_JOB_RELEASE] = {"{\"release\":true}", 200, 404},
    [ROUTE_CHECKPOINT_RESTORE] = {NULL, 400, 400},
    [ROUTE_TENANT_ADD] = {"{\"tenant\":\"carol\"}", 403, 403},
    [ROUTE_TENANT_SET] = {"{\"weight\":3}", 403, 403},
    [ROUTE_TOKEN_CREATE] = {"{}", 403, 403},
    [ROUTE_NODE_ADD] = {"{}", 403, 403},
    [ROUTE_PEER_HELLO] = {"{\"node\":\"0000000000aa\",\"protocol\":{\"min\":1,\"max\":1}}", 403,
        403},
};

/* A route without a row in cases has no body. It works for whoever its role lets in; a thing that
 * its address names is for another tenant not there. */
static RouteCase get_case(RouteId route) {
    const RouteInfo *info = route_info(route);
    const bool is_let_in = info->role == ROUTE_ROLE_ANYONE || info->role == ROUTE_ROLE_USER;
    const bool has_name = strchr(info->pattern, '{') != NULL;
    if (cases[route].owner) return cases[route];
    if (!is_let_in) return (RouteCase){NULL, 403, 403};
    return (RouteCase){NULL, 200, has_name ? 404 : 200};
}

/* The route's address with real names in the braces. */
static void write_path(const RouteInfo *info, const char *job, char *out, size_t size) {
    TextBuilder OWN_TEXT(path) = {0};
    for (const char *at = info->pattern; *at;) {
        const char *end = strchrnul(at, '{');
        text_append_bytes(&path, at, (size_t)(end - at));
        if (!*end) break;
        at = strchr(end, '}') + 1;
        bool is_version = text_starts_with(end, "{version");
        text_append(&path, text_starts_with(end, "{job") ? job : is_version ? "1" : "m");
    }
    (void)snprintf(out, size, "%s", text_builder_get(&path));
}

static void make_job(TestServer *server, char out_id[64]) {
    char text[1024];
    assert_int_equal(
        test_server_submit(server, TEST_USER, "{\"model\":\"m\"}", text, sizeof text), 200);
    assert_int_equal(sscanf(text, "{\"job\":\"%63[^\"]", out_id), 1);
}

static int ask(TestServer *server, TestRole role, RouteId route, const char *path) {
    const RouteInfo *info = route_info(route);
    char file[192], text[TEXT_SIZE];
    if (info->body == ROUTE_BODY_STREAM) {
        test_server_make_executable(server, file);
        return test_server_post_file(server, role, path, file, text, sizeof text);
    }
    return test_server_ask(
        server, role, info->method, path, get_case(route).body, text, sizeof text);
}

/* What any role may see of a route, whatever the handler then says. */
static bool is_let_in(TestRole role, RouteRole wanted) {
    switch (wanted) {
    case ROUTE_ROLE_ANYONE:
        return true;
    case ROUTE_ROLE_USER:
        return role == TEST_USER || role == TEST_OTHER || role == TEST_ADMIN || role == TEST_LOCAL;
    case ROUTE_ROLE_ADMIN:
        return role == TEST_ADMIN || role == TEST_LOCAL;
    case ROUTE_ROLE_NODE:
        return role == TEST_NODE || role == TEST_ADMIN || role == TEST_LOCAL;
    }
    return false;
}

static void test_http_service_lets_each_role_to_its_routes(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    test_server_open(&server, NULL);
    for (RouteId route = 0; route < ROUTE_COUNT; route++) {
        char path[256];
        if (route == ROUTE_JOB_WATCH) continue; /* nobody here has the job: nothing to wait for */
        write_path(route_info(route), "0000000000aa-9999", path, sizeof path);
        for (TestRole role = 0; role < TEST_ROLES; role++) {
            int status = ask(&server, role, route, path);
            bool unknown = role == TEST_NOBODY || role == TEST_WRONG;
            int refusal = unknown ? 401 : 403;
            if (is_let_in(role, route_info(route)->role)) {
                if (status == 401 || status == 403 || status >= 500)
                    fail_msg("%s %d: %d", path, role, status);
            } else if (status != refusal)
                fail_msg("%s %d: %d", path, role, status);
        }
    }
}

/* Another tenant's things answer as what does not exist, word for word. */
static void test_http_service_hides_tenants_from_each_other(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    test_server_open(&server, NULL);
    for (RouteId route = 0; route < ROUTE_COUNT; route++) {
        const RouteInfo *info = route_info(route);
        const RouteCase wanted = get_case(route);
        char path[256], absent[256], job[64];
        if (info->role == ROUTE_ROLE_USER) test_server_register(&server, TEST_USER, "m");
        make_job(&server, job);
        write_path(info, job, path, sizeof path);
        bool own = route == ROUTE_MODEL_REGISTER; /* a model of its own, under another name */
        int status = ask(&server, TEST_OTHER, route, own ? "/v1/models/other" : path);
        if (status != wanted.other) fail_msg("other %s: %d", path, status);
        /* by naming the tenant, too */
        if (info->role == ROUTE_ROLE_USER) {
            (void)snprintf(absent, sizeof absent, "%s?tenant=alice", path);
            assert_int_equal(ask(&server, TEST_OTHER, route, absent), 404);
            (void)snprintf(absent, sizeof absent, "%s?tenant=nobody", path);
            assert_int_equal(ask(&server, TEST_OTHER, route, absent), 404);
        }
        if (route == ROUTE_JOB_WATCH)
            memory_jobs_set_state(&server.jobs, server.jobs.count - 1, "failed", true);
        status = ask(&server, TEST_USER, route, path);
        if (status != wanted.owner) fail_msg("owner %s: %d", path, status);
    }
}

static void test_http_service_lets_admins_act_for_tenants(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE];
    test_server_open(&server, NULL);
    test_server_register(&server, TEST_USER, "m");
    for (int i = 0; i < 2; i++) {
        TestRole role = i ? TEST_ADMIN : TEST_LOCAL;
        assert_int_equal(
            test_server_ask(&server, role, HTTP_METHOD_GET, "/v1/models/m", NULL, NULL, 0), 404);
        assert_int_equal(test_server_ask(&server, role, HTTP_METHOD_GET,
                             "/v1/models/m?tenant=alice", NULL, text, sizeof text),
            200);
        assert_int_equal(test_server_ask(&server, role, HTTP_METHOD_GET, "/v1/models?tenant=nobody",
                             NULL, NULL, 0),
            404);
        assert_int_equal(test_server_ask(&server, role, HTTP_METHOD_GET,
                             "/v1/models?tenant=alice&tenant=bob", NULL, NULL, 0),
            400);
        assert_int_equal(test_server_ask(&server, role, HTTP_METHOD_GET, "/v1/models?tenant=..%2Fx",
                             NULL, NULL, 0),
            404);
    }
    assert_int_equal(test_server_ask(&server, TEST_USER, HTTP_METHOD_GET,
                         "/v1/models/m?tenant=alice", NULL, NULL, 0),
        200);
}

/* A token counts on the unix socket as well: it makes less of whoever shows it. */
static void test_http_service_takes_tokens_on_the_unix_socket(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE], request[512];
    static const char *const wrong[] = {"Basic YTpi", "Bearer", "Bearer ", "Bearer x y", "bearer"};
    test_server_open(&server, NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int descriptor = test_connect(&server, false);
        (void)snprintf(request, sizeof request,
            "GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\n\r\n", wrong[i]);
        test_send(descriptor, request);
        assert_true(test_receive_until(descriptor, "UNAUTHENTICATED", text, sizeof text, 5000));
        assert_non_null(strstr(text, "WWW-Authenticate: Bearer"));
        (void)close(descriptor);
    }
    int descriptor = test_connect(&server, false);
    (void)snprintf(request, sizeof request,
        "GET /v1/tokens HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n",
        server.tokens[TEST_USER]);
    test_send(descriptor, request);
    assert_true(test_receive_until(descriptor, "REFUSED", text, sizeof text, 5000));
    (void)close(descriptor);
}

static void test_http_service_limits_uploads_to_the_store_quota(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE], file[192];
    test_server_open(&server, NULL);
    test_server_make_executable(&server, file);
    assert_int_equal(test_server_ask(&server, TEST_ADMIN, HTTP_METHOD_POST, "/v1/tenants/alice",
                         "{\"quotas\":{\"store_bytes\":10}}", NULL, 0),
        200);
    assert_int_equal(
        test_server_post_file(&server, TEST_USER, "/v1/models/m", file, text, sizeof text), 429);
    assert_non_null(strstr(text, "quota store_bytes, of which 10 are left"));
    assert_int_equal(test_server_ask(&server, TEST_ADMIN, HTTP_METHOD_POST, "/v1/tenants/alice",
                         "{\"quotas\":{\"store_bytes\":0}}", NULL, 0),
        200);
    assert_int_equal(
        test_server_post_file(&server, TEST_USER, "/v1/models/m", file, text, sizeof text), 429);
    assert_non_null(strstr(text, "tenant alice: its quota store_bytes is 0, and 0 are stored"));
    assert_int_equal(test_server_ask(&server, TEST_ADMIN, HTTP_METHOD_POST, "/v1/tenants/alice",
                         "{\"quotas\":{\"store_bytes\":null}}", NULL, 0),
        200);
    assert_int_equal(
        test_server_post_file(&server, TEST_USER, "/v1/models/m", file, text, sizeof text), 200);
}

int test_http_service(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_service_lets_each_role_to_its_routes),
        cmocka_unit_test(test_http_service_hides_tenants_from_each_other),
        cmocka_unit_test(test_http_service_lets_admins_act_for_tenants),
        cmocka_unit_test(test_http_service_takes_tokens_on_the_unix_socket),
        cmocka_unit_test(test_http_service_limits_uploads_to_the_store_quota),
    };
    return cmocka_run_group_tests_name("http_service", tests, NULL, NULL);
}
