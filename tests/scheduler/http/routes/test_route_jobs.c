#include "tests/scheduler/http_fixtures.h"

enum { TEXT_SIZE = 16384 };
#define JOB "/v1/jobs/0000000000aa-1"

static int get(TestServer *server, const char *path, char *text) {
    return test_server_ask(server, TEST_USER, HTTP_METHOD_GET, path, NULL, text, TEXT_SIZE);
}

static void test_route_jobs_shows_jobs_and_what_happened(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    static char text[TEXT_SIZE];
    test_server_open(&server, NULL);
    assert_int_equal(get(&server, "/v1/jobs", text), 200);
    assert_string_equal(text, "");
    (void)test_server_submit(&server, TEST_USER, "{\"model\":\"m\"}", NULL, 0);
    (void)test_server_submit(&server, TEST_USER, "{\"model\":\"n\",\"items\":true}", NULL, 0);
    (void)test_server_submit(&server, TEST_OTHER, "{\"model\":\"o\"}", NULL, 0);
    memory_jobs_set_state(&server.jobs, 1, "suspended", false);
    assert_int_equal(get(&server, "/v1/jobs", text), 200);
    assert_non_null(strstr(text, "\"model\":\"m\""));
    assert_non_null(strstr(text, "\"items_done\":0,\"items_total\":10"));
    assert_null(strstr(text, "\"model\":\"o\""));
    assert_int_equal(get(&server, "/v1/jobs?state=suspended", text), 200);
    assert_null(strstr(text, "\"model\":\"m\""));
    assert_int_equal(get(&server, "/v1/jobs?state=lost", text), 400);
    assert_int_equal(get(&server, JOB, text), 200);
    assert_non_null(strstr(text, "\"items_done\":null,\"items_total\":null,\"device\":null"));
    assert_non_null(strstr(text, "\"events\":[{\"seq\":1,"));
    assert_int_equal(get(&server, JOB "/events?since=1", text), 200);
    assert_string_equal(text, "");
    assert_int_equal(get(&server, JOB "/events?since=-1", text), 400);
    assert_int_equal(get(&server, JOB "/checkpoints", text), 200);
    assert_non_null(strstr(text, "{\"id\":3,"));
    assert_int_equal(get(&server, "/v1/jobs/none", text), 404);
}

static void test_route_jobs_sends_outputs_and_checkpoints(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    static char text[TEXT_SIZE];
    test_server_open(&server, NULL);
    (void)test_server_submit(&server, TEST_USER, "{\"model\":\"m\"}", NULL, 0);
    OWN(HttpClient, client) = test_server_client(&server, TEST_USER);
    HttpClientReply OWN_REPLY(reply) = {0};
    HttpClientCall call = {.path = JOB "/outputs?since=2"};
    assert_ok(http_client_call(client, &call, &reply));
    assert_string_equal(text_builder_get(&reply.text), "outputs since 2");
    assert_int_equal(reply.next, 7);
    assert_int_equal(get(&server, JOB "/checkpoint?with_model=1&from=2", text), 200);
    assert_string_equal(text, "checkpoint");
    assert_int_equal(get(&server, JOB "/checkpoint?with_model=yes", text), 400);
    assert_int_equal(get(&server, JOB "/checkpoint?release=1", text), 400);
    assert_int_equal(test_server_ask(&server, TEST_USER, HTTP_METHOD_POST, JOB "/checkpoint",
                         "{\"release\":true}", text, sizeof text),
        200);
    assert_string_equal(server.jobs.jobs[0].shown.state, "released");
}

int test_route_jobs(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_route_jobs_shows_jobs_and_what_happened),
        cmocka_unit_test(test_route_jobs_sends_outputs_and_checkpoints),
    };
    return cmocka_run_group_tests_name("route_jobs", tests, NULL, NULL);
}
