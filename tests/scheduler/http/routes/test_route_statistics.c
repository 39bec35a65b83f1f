#include <string.h>

#include "tests/scheduler/http_fixtures.h"

enum { TEXT_SIZE = 8192 };

static void ask(TestServer *server, TestRole role, HttpMethod method, const char *path,
    const char *json, int status, const char *words) {
    char text[TEXT_SIZE];
    const int got = test_server_ask(server, role, method, path, json, text, sizeof text);
    if (got != status || !strstr(text, words))
        fail_msg("%s: %d %s, not %s", path, got, text, words);
}

/* Three requests of model m: two are answered, one is refused. */
static void use_model(TestServer *server) {
    static const char wrong[] = "{\"inputs\":[{\"name\":\"a\"}]}";
    for (int i = 0; i < 2; i++)
        ask(server, TEST_USER, HTTP_METHOD_POST, "/v2/models/m/infer", "{\"inputs\":[]}", 200, "m");
    ask(server, TEST_USER, HTTP_METHOD_POST, "/v2/models/m/infer", wrong, 400, "datatype");
}

static void test_route_statistics_counts_requests(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    test_server_open(&server, NULL);
    test_server_register(&server, TEST_USER, "m");
    ask(&server, TEST_USER, HTTP_METHOD_GET, "/v2/models/m/stats", NULL, 200,
        "{\"model_stats\":[{\"name\":\"m\",\"version\":\"1\",\"last_inference\":0,"
        "\"inference_count\":0,\"execution_count\":0,\"inference_stats\":{\"success\":"
        "{\"count\":0,\"ns\":0}");
    ask(&server, TEST_USER, HTTP_METHOD_GET, "/v2/models/stats", NULL, 200, "{\"model_stats\":[]}");
    use_model(&server);
    static const char *const words[] = {"\"inference_count\":2,\"execution_count\":2,",
        "\"success\":{\"count\":2,", "\"fail\":{\"count\":1,", "\"queue\":{\"count\":2,\"ns\":2}",
        "\"compute_infer\":{\"count\":2,\"ns\":4}",
        "\"batch_stats\":[{\"batch_size\":1,\"compute_input\":{\"count\":2,"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        ask(&server, TEST_USER, HTTP_METHOD_GET, "/v2/models/stats", NULL, 200, words[i]);
        ask(&server, TEST_USER, HTTP_METHOD_GET, "/v2/models/m/versions/1/stats", NULL, 200,
            words[i]);
    }
    ask(&server, TEST_OTHER, HTTP_METHOD_GET, "/v2/models/stats", NULL, 200,
        "{\"model_stats\":[]}");
    ask(&server, TEST_OTHER, HTTP_METHOD_GET, "/v2/models/m/stats", NULL, 404, "no model");
}

int test_route_statistics(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_route_statistics_counts_requests)};
    return cmocka_run_group_tests_name("route_statistics", tests, NULL, NULL);
}
