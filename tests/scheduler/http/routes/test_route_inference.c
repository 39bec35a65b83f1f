#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/scheduler/http_fixtures.h"

enum { TEXT_SIZE = 4096 };

static void ask(TestServer *server, HttpMethod method, const char *path, const char *json,
    int status, const char *words) {
    char text[TEXT_SIZE];
    const int got = test_server_ask(server, TEST_USER, method, path, json, text, sizeof text);
    if (got != status || !strstr(text, words)) fail_msg("%s: %d %s", path, got, text);
}

static void test_route_inference_describes_models(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    test_server_open(&server, NULL);
    test_server_register(&server, TEST_USER, "m");
    ask(&server, HTTP_METHOD_GET, "/v2", NULL, 200, "\"binary_tensor_data\"");
    ask(&server, HTTP_METHOD_GET, "/v2/models/m", NULL, 200,
        "\"outputs\":[{\"name\":\"y\",\"datatype\":\"FP32\",\"shape\":[2]}]");
    ask(&server, HTTP_METHOD_GET, "/v2/models/m/versions/1", NULL, 200, "\"versions\":[\"1\"]");
    ask(&server, HTTP_METHOD_GET, "/v2/models/m/ready", NULL, 200, "\"ready\":true");
    ask(&server, HTTP_METHOD_GET, "/v2/models/m/versions/2/ready", NULL, 404, "no model");
    ask(&server, HTTP_METHOD_GET, "/v2/models/absent/ready", NULL, 404, "no model");
    ask(&server, HTTP_METHOD_GET, "/v2/models/..%2Fx", NULL, 400, "no model name");
    ask(&server, HTTP_METHOD_GET, "/v2/models/m/versions/%2e%2e", NULL, 400, "no version");
    ask(&server, HTTP_METHOD_DELETE, "/v2/models/m", NULL, 405, "GET");
}

/* The jobs in memory answer with what they get. */
static void test_route_inference_passes_inputs_and_policy_on(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    test_server_open(&server, NULL);
    test_server_register(&server, TEST_USER, "m");
    const double before = clock_real().calendar_s(clock_real().self);
    ask(&server, HTTP_METHOD_POST, "/v2/models/m/versions/1/infer",
        "{\"id\":\"7\",\"inputs\":[{\"name\":\"a\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":"
        "[0.5]}],\"parameters\":{\"priority\":3,\"timeout\":60000000}}",
        200,
        "{\"model_name\":\"m\",\"model_version\":\"1\",\"id\":\"7\",\"outputs\":[{\"name\":\"a\","
        "\"datatype\":\"FP32\",\"shape\":[1],\"data\":[0.5]}]}");
    assert_int_equal(server.jobs.last.priority, POLICY_LOW);
    assert_true(server.jobs.last.deadline >= before + 60);
    assert_string_equal(server.jobs.last.policy.function, "main");
    ask(&server, HTTP_METHOD_POST, "/v2/models/m/infer", "{\"inputs\":1}", 400, "");
    ask(&server, HTTP_METHOD_POST, "/v2/models/m/infer?x=1", "{\"inputs\":[]}", 400, "");
}

static void send_head(int descriptor, const char *header, const char *body) {
    char head[512];
    (void)snprintf(head, sizeof head,
        "POST /v2/models/m/infer?tenant=alice HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n"
        "%s\r\n%s",
        strlen(body), header, body);
    test_send(descriptor, head);
}

static void test_route_inference_refuses_heads(void **state) {
    (void)state;
    static const char *const headers[] = {
        "Inference-Header-Content-Length: -1\r\n",
        "Inference-Header-Content-Length: 0x0d\r\n",
        "Inference-Header-Content-Length: +13\r\n",
        "Inference-Header-Content-Length: \r\n",
        "Inference-Header-Content-Length: 14\r\n",
        "Inference-Header-Content-Length: 12\r\n",
        "Inference-Header-Content-Length: 99999999999999999999999999999999\r\n",
        "Inference-Header-Content-Length: 13\r\ninference-header-content-length: 13\r\n",
    };
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE];
    test_server_open(&server, NULL);
    test_server_register(&server, TEST_USER, "m");
    int descriptor = test_connect(&server, false);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        send_head(descriptor, headers[i], "{\"inputs\":[]}");
        assert_true(test_receive_until(descriptor, "\"INVALID\"}\n", text, sizeof text, 5000));
        assert_non_null(strstr(text, " 400 "));
    }
    send_head(descriptor, "inference-header-content-length: 13\r\n", "{\"inputs\":[]}");
    assert_true(test_receive_until(descriptor, "\"outputs\":[]}", text, sizeof text, 5000));
    (void)close(descriptor);
}

static void test_route_inference_ends_the_run_when_the_client_goes(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    test_server_open(&server, &(HttpServerOptions){.idle_limit_ms = 100});
    test_server_register(&server, TEST_USER, "m");
    server.jobs.holds_runs = true;
    int descriptor = test_connect(&server, false);
    send_head(descriptor, "", "{\"inputs\":[]}");
    const struct timespec pause = {.tv_nsec = 1000000};
    while (!atomic_load(&server.jobs.runs)) (void)nanosleep(&pause, NULL);
    (void)close(descriptor);
    for (int i = 0; i < 20000 && !atomic_load(&server.jobs.cuts); i++)
        (void)nanosleep(&pause, NULL);
    assert_int_equal(atomic_load(&server.jobs.cuts), 1);
}

int test_route_inference(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_route_inference_describes_models),
        cmocka_unit_test(test_route_inference_passes_inputs_and_policy_on),
        cmocka_unit_test(test_route_inference_refuses_heads),
        cmocka_unit_test(test_route_inference_ends_the_run_when_the_client_goes),
    };
    return cmocka_run_group_tests_name("route_inference", tests, NULL, NULL);
}
