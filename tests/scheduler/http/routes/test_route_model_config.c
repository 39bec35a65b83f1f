#include <stdio.h>
#include <string.h>

#include "serialize/container/executable_file.h"
#include "tests/scheduler/http_fixtures.h"
#include "vm/assembly/assembly.h"

enum { TEXT_SIZE = 4096 };

static const char program[] =
    "function main(x: float32[n, 2]) -> (y: float32[n, 2]) exported {\n Ret r0\n}\n";

static void ask(TestServer *server, TestRole role, HttpMethod method, const char *path,
    const char *json, int status, const char *words) {
    char text[TEXT_SIZE];
    const int got = test_server_ask(server, role, method, path, json, text, sizeof text);
    if (got != status || !strstr(text, words)) fail_msg("%s: %d %s", path, got, text);
}

/* The model j, whose main takes items. */
static void register_joinable(TestServer *server) {
    OWN(Executable, executable) = NULL;
    char path[192], text[TEXT_SIZE];
    (void)snprintf(path, sizeof path, "%s/items.lvx", server->folder);
    assert_ok(assembly_parse(program, sizeof program - 1, &executable));
    assert_ok(executable_write_file(executable, NULL, path));
    assert_int_equal(test_server_post_file(
                         server, TEST_USER, "/v1/models/j?alias=prod", path, text, sizeof text),
        200);
}

static void test_route_model_config_sets_and_shows(void **state) {
    (void)state;
    static const char path[] = "/v1/models/j%40prod/config";
    TestServer OWN_SERVER(server);
    test_server_open(&server, NULL);
    register_joinable(&server);
    ask(&server, TEST_USER, HTTP_METHOD_POST, path, NULL, 200,
        "{\"model\":\"j\",\"version\":1,\"max_batch\":1,\"queue_delay_us\":0}");
    ask(&server, TEST_USER, HTTP_METHOD_GET, "/v2/models/j/config", NULL, 200,
        "\"max_batch_size\":0,\"input\":[{\"name\":\"x\",\"data_type\":\"TYPE_FP32\",\"dims\":[-1,"
        "2]}]");
    ask(&server, TEST_USER, HTTP_METHOD_POST, path, "{\"max_batch\":8}", 200, "\"max_batch\":8,");
    ask(&server, TEST_USER, HTTP_METHOD_POST, path, "{\"queue_delay_us\":500}", 200,
        "\"max_batch\":8,\"queue_delay_us\":500}");
    ask(&server, TEST_USER, HTTP_METHOD_GET, "/v2/models/j/config", NULL, 200,
        "\"max_batch_size\":8,\"dynamic_batching\":{\"max_queue_delay_microseconds\":500},"
        "\"input\":[{\"name\":\"x\",\"data_type\":\"TYPE_FP32\",\"dims\":[2]}]");
}

static void test_route_model_config_refuses_others(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    test_server_open(&server, NULL);
    register_joinable(&server);
    test_server_register(&server, TEST_USER, "m");
    static const char path[] = "/v1/models/j/config";
    ask(&server, TEST_USER, HTTP_METHOD_POST, path, "{\"max_batch\":0}", 400, "max_batch");
    ask(&server, TEST_USER, HTTP_METHOD_POST, path, "{\"max_batch\":65537}", 400, "max_batch");
    ask(&server, TEST_USER, HTTP_METHOD_POST, path, "{\"queue_delay_us\":-1}", 400,
        "queue_delay_us");
    ask(&server, TEST_USER, HTTP_METHOD_POST, path, "{\"x\":1}", 400, "x");
    ask(&server, TEST_USER, HTTP_METHOD_POST, "/v1/models/j%402/config", NULL, 404, "no model");
    ask(&server, TEST_USER, HTTP_METHOD_POST, "/v1/models/m/config", "{\"max_batch\":2}", 400,
        "takes no input");
    ask(&server, TEST_OTHER, HTTP_METHOD_POST, path, "{\"max_batch\":2}", 404, "no model");
}

int test_route_model_config(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_route_model_config_sets_and_shows),
        cmocka_unit_test(test_route_model_config_refuses_others),
    };
    return cmocka_run_group_tests_name("route_model_config", tests, NULL, NULL);
}
