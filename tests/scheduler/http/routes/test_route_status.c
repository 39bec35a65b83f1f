#include "tests/scheduler/http_fixtures.h"

enum { TEXT_SIZE = 65536 };

static void test_route_status_tells_what_there_is(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    static char text[TEXT_SIZE];
    test_server_open(&server, NULL);
    assert_int_equal(test_server_ask(&server, TEST_USER, HTTP_METHOD_GET, "/v1/devices", NULL, text,
                         sizeof text),
        200);
    assert_non_null(strstr(text, "{\"device\":\"cpu\",\"name\":\"cpu\",\"memory_bytes\":100,"
                                 "\"free_bytes\":50,\"determinism_class\":\"none\""));
    assert_int_equal(
        test_server_ask(&server, TEST_USER, HTTP_METHOD_GET, "/v1/top", NULL, text, sizeof text),
        200);
    assert_non_null(strstr(text, "\"devices\":[{\"device\":\"cpu\""));
    assert_non_null(strstr(text, "\"tenants\":[{\"tenant\":\"default\",\"weight\":1"));
    assert_int_equal(
        test_server_ask(&server, TEST_ADMIN, HTTP_METHOD_GET, "/metrics", NULL, text, sizeof text),
        200);
    assert_non_null(strstr(text, "# TYPE layover_http_requests_total counter\n"));
    atomic_store(&server.service.ready, false);
    assert_int_equal(
        test_server_ask(&server, TEST_LOCAL, HTTP_METHOD_GET, "/v2/health/ready", NULL, NULL, 0),
        503);
    assert_int_equal(
        test_server_ask(&server, TEST_LOCAL, HTTP_METHOD_GET, "/v2/health/live", NULL, NULL, 0),
        200);
}

int test_route_status(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_route_status_tells_what_there_is)};
    return cmocka_run_group_tests_name("route_status", tests, NULL, NULL);
}
