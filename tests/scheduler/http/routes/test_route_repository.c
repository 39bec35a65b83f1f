#include <string.h>

#include "tests/scheduler/http_fixtures.h"

enum { TEXT_SIZE = 4096 };

static void ask(TestServer *server, HttpMethod method, const char *path, const char *json,
    int status, const char *words) {
    char text[TEXT_SIZE];
    const int got = test_server_ask(server, TEST_USER, method, path, json, text, sizeof text);
    if (got != status || !strstr(text, words)) fail_msg("%s: %d %s", path, got, text);
}

static void test_route_repository_lists_a_tenants_versions(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE];
    test_server_open(&server, NULL);
    ask(&server, HTTP_METHOD_POST, "/v2/repository/index", NULL, 200, "[]");
    test_server_register(&server, TEST_USER, "m");
    test_server_register(&server, TEST_USER, "k");
    ask(&server, HTTP_METHOD_POST, "/v2/repository/index", "{\"ready\":true}", 200,
        "[{\"name\":\"k\",\"version\":\"1\",\"state\":\"READY\"},"
        "{\"name\":\"m\",\"version\":\"1\",\"state\":\"READY\"}]");
    ask(&server, HTTP_METHOD_POST, "/v2/repository/index", "{\"ready\":1}", 400, "ready");
    assert_int_equal(test_server_ask(&server, TEST_OTHER, HTTP_METHOD_POST, "/v2/repository/index",
                         NULL, text, sizeof text),
        200);
    assert_string_equal(text, "[]\n");
}

static void test_route_repository_loads_what_is_there(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    test_server_open(&server, NULL);
    test_server_register(&server, TEST_USER, "m");
    ask(&server, HTTP_METHOD_POST, "/v2/repository/models/m/load", "{}", 200, "{}");
    assert_int_equal(server.jobs.stored_by, server.alice);
    ask(&server, HTTP_METHOD_POST, "/v2/repository/models/absent/load", "{}", 404, "absent");
    ask(&server, HTTP_METHOD_POST, "/v2/repository/models/..%2Fm/load", "{}", 400, "no model name");
    ask(&server, HTTP_METHOD_POST, "/v2/repository/models/m/load",
        "{\"parameters\":{\"config\":\"{}\"}}", 400, "not taken");
    ask(&server, HTTP_METHOD_POST, "/v2/repository/models/m/load", "{\"parameters\":7}", 400,
        "not taken");
}

static void test_route_repository_unloads_until_a_load(void **state) {
    (void)state;
    static const char unload[] = "/v2/repository/models/m/unload";
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE];
    test_server_open(&server, NULL);
    test_server_register(&server, TEST_USER, "m");
    ask(&server, HTTP_METHOD_POST, unload, "{\"parameters\":{\"unload_dependents\":1}}", 400,
        "unload_dependents");
    ask(&server, HTTP_METHOD_POST, unload, "{\"parameters\":{\"x\":true}}", 400, "x");
    ask(&server, HTTP_METHOD_GET, "/v2/models/m/ready", NULL, 200, "true");
    ask(&server, HTTP_METHOD_POST, unload, "{\"parameters\":{\"unload_dependents\":false}}", 200,
        "{}");
    ask(&server, HTTP_METHOD_GET, "/v2/models/m/ready", NULL, 503, "is unloaded");
    ask(&server, HTTP_METHOD_GET, "/v2/models/m", NULL, 200, "platform");
    ask(&server, HTTP_METHOD_POST, "/v2/models/m/versions/1/infer", "{\"inputs\":[]}", 503,
        "is unloaded");
    ask(&server, HTTP_METHOD_POST, "/v2/repository/index", NULL, 200,
        "[{\"name\":\"m\",\"version\":\"1\",\"state\":\"UNAVAILABLE\",\"reason\":\"unloaded\"}]");
    ask(&server, HTTP_METHOD_POST, "/v2/repository/index", "{\"ready\":true}", 200, "[]");
    assert_int_equal(
        test_server_ask(&server, TEST_OTHER, HTTP_METHOD_POST, unload, NULL, text, sizeof text),
        404);
    ask(&server, HTTP_METHOD_POST, "/v2/repository/models/m/load", "{}", 200, "{}");
    ask(&server, HTTP_METHOD_POST, "/v2/models/m/infer", "{\"inputs\":[]}", 200, "m");
}

static void test_route_repository_describes_models(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    test_server_open(&server, NULL);
    test_server_register(&server, TEST_USER, "m");
    ask(&server, HTTP_METHOD_GET, "/v2/models/m/versions/1/config", NULL, 200,
        "\"output\":[{\"name\":\"y\",\"data_type\":\"TYPE_FP32\",\"dims\":[2]}]");
    ask(&server, HTTP_METHOD_GET, "/v2/models/absent/config", NULL, 404, "absent");
}

int test_route_repository(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_route_repository_lists_a_tenants_versions),
        cmocka_unit_test(test_route_repository_loads_what_is_there),
        cmocka_unit_test(test_route_repository_unloads_until_a_load),
        cmocka_unit_test(test_route_repository_describes_models),
    };
    return cmocka_run_group_tests_name("route_repository", tests, NULL, NULL);
}
