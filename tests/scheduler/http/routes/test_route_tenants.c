#include <stdio.h>

#include "tests/scheduler/http_fixtures.h"

enum { TEXT_SIZE = 16384 };

static int post(TestServer *server, const char *path, const char *json, char *text) {
    return test_server_ask(server, TEST_ADMIN, HTTP_METHOD_POST, path, json, text, TEXT_SIZE);
}

static void test_route_tenants_adds_and_changes(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    static char text[TEXT_SIZE];
    static const char *const wrong[] = {"{}", "{\"tenant\":\"a b\"}", "{\"tenant\":7}",
        "{\"tenant\":\"c\",\"weight\":0}", "{\"tenant\":\"c\",\"quotas\":[]}",
        "{\"tenant\":\"c\",\"quotas\":{\"luck\":1}}",
        "{\"tenant\":\"c\",\"quotas\":{\"depth\":-1}}", "{\"tenant\":\"c\",\"x\":1}"};
    test_server_open(&server, NULL);
    assert_int_equal(post(&server, "/v1/tenants",
                         "{\"tenant\":\"carol\",\"weight\":4,\"retention\":60,"
                         "\"quotas\":{\"depth\":5}}",
                         text),
        200);
    assert_non_null(strstr(text, "{\"tenant\":\"carol\",\"weight\":4,\"quotas\":{"));
    assert_non_null(strstr(text, "\"depth\":5"));
    assert_non_null(strstr(text, "\"store_bytes\":null"));
    assert_non_null(strstr(text, "\"used\":{\"store_bytes\":0,\"output_bytes\":0,\"checkpoints\":0,"
                                 "\"queued_jobs\":0,\"running_jobs\":2,"
                                 "\"device_seconds_per_hour\":1.5}"));
    assert_int_equal(post(&server, "/v1/tenants", "{\"tenant\":\"carol\"}", text), 409);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (post(&server, "/v1/tenants", wrong[i], text) != 400) fail_msg("%s", wrong[i]);
    assert_int_equal(
        post(&server, "/v1/tenants/carol", "{\"weight\":9,\"quotas\":{\"depth\":null}}", text),
        200);
    assert_non_null(strstr(text, "\"weight\":9"));
    assert_int_equal(server.jobs.changed_tenant, 4); /* whoever runs its jobs hears of it */
    assert_non_null(strstr(text, "\"depth\":null"));
    assert_int_equal(post(&server, "/v1/tenants/dave", "{}", text), 404);
    assert_int_equal(test_server_ask(&server, TEST_ADMIN, HTTP_METHOD_GET, "/v1/tenants", NULL,
                         text, sizeof text),
        200);
    assert_non_null(strstr(text, "\"tenant\":\"carol\",\"weight\":9"));
    assert_non_null(strstr(text, "\"tenant\":\"default\""));
}

static void test_route_tenants_makes_and_revokes_tokens(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    static char text[TEXT_SIZE];
    static const char *const wrong[] = {"{\"role\":\"king\"}",
        "{\"role\":\"node\",\"tenant\":\"alice\"}", "{\"role\":7}", "{\"x\":1}"};
    long long id;
    char path[64];
    test_server_open(&server, NULL);
    assert_int_equal(
        post(&server, "/v1/tokens", "{\"tenant\":\"alice\",\"role\":\"user\"}", text), 200);
    assert_int_equal(
        sscanf(text, "{\"id\":%lld,\"token\":\"%127[^\"]", &id, server.tokens[TEST_WRONG]), 2);
    assert_int_equal(
        test_server_ask(&server, TEST_WRONG, HTTP_METHOD_GET, "/v1/models", NULL, NULL, 0), 200);
    assert_int_equal(test_server_ask(&server, TEST_ADMIN, HTTP_METHOD_GET, "/v1/tokens", NULL, text,
                         sizeof text),
        200);
    assert_null(strstr(text, server.tokens[TEST_WRONG])); /* shown once */
    assert_non_null(strstr(text, "\"tenant\":null,\"role\":\"node\""));
    (void)snprintf(path, sizeof path, "/v1/tokens/%lld", id);
    assert_int_equal(
        test_server_ask(&server, TEST_ADMIN, HTTP_METHOD_DELETE, path, NULL, NULL, 0), 200);
    assert_int_equal(
        test_server_ask(&server, TEST_WRONG, HTTP_METHOD_GET, "/v1/models", NULL, NULL, 0), 401);
    assert_int_equal(
        test_server_ask(&server, TEST_ADMIN, HTTP_METHOD_DELETE, path, NULL, NULL, 0), 404);
    assert_int_equal(
        test_server_ask(&server, TEST_ADMIN, HTTP_METHOD_DELETE, "/v1/tokens/x", NULL, NULL, 0),
        404);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (post(&server, "/v1/tokens", wrong[i], text) != 400) fail_msg("%s", wrong[i]);
    assert_int_equal(post(&server, "/v1/tokens", "{\"tenant\":\"nobody\"}", text), 404);
}

int test_route_tenants(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_route_tenants_adds_and_changes),
        cmocka_unit_test(test_route_tenants_makes_and_revokes_tokens),
    };
    return cmocka_run_group_tests_name("route_tenants", tests, NULL, NULL);
}
