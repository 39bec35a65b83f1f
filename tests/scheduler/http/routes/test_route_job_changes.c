#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "tests/scheduler/http_fixtures.h"

enum { TEXT_SIZE = 4096 };

static int change(TestServer *server, const char *what, const char *json, char *text) {
    char path[128];
    (void)snprintf(path, sizeof path, "/v1/jobs/0000000000aa-1/%s", what);
    return test_server_ask(server, TEST_USER, HTTP_METHOD_POST, path, json, text, TEXT_SIZE);
}

static void test_route_job_changes_follows_states(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE];
    test_server_open(&server, NULL);
    (void)test_server_submit(&server, TEST_USER, "{\"model\":\"m\"}", NULL, 0);
    assert_int_equal(change(&server, "resume", NULL, text), 409);
    assert_non_null(strstr(text, "queued")); /* the state is named */
    assert_int_equal(change(&server, "suspend", NULL, text), 200);
    assert_string_equal(text, "{\"job\":\"0000000000aa-1\",\"state\":\"suspended\"}\n");
    assert_int_equal(change(&server, "suspend", NULL, text), 409);
    assert_int_equal(change(&server, "resume", "{\"device\":\"cpu\",\"from\":2}", text), 200);
    assert_int_equal(change(&server, "resume", "{\"from\":0}", text), 400);
    assert_int_equal(change(&server, "cancel", "{\"from\":1}", text), 400);
    assert_int_equal(change(&server, "fork", "{\"from\":1}", text), 200);
    assert_string_equal(text, "{\"job\":\"0000000000aa-2\",\"state\":\"queued\"}\n");
    assert_int_equal(test_server_ask(&server, TEST_USER, HTTP_METHOD_DELETE,
                         "/v1/jobs/0000000000aa-1", NULL, text, sizeof text),
        409);
    assert_int_equal(change(&server, "cancel", NULL, text), 200);
    assert_int_equal(change(&server, "cancel", NULL, text), 409);
    assert_int_equal(test_server_ask(&server, TEST_USER, HTTP_METHOD_DELETE,
                         "/v1/jobs/0000000000aa-1", NULL, text, sizeof text),
        200);
    assert_int_equal(change(&server, "cancel", NULL, text), 404);
}

static void test_route_job_changes_verifies(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE];
    test_server_open(&server, NULL);
    (void)test_server_submit(&server, TEST_USER, "{\"model\":\"m\"}", NULL, 0);
    assert_int_equal(change(&server, "verify", "{\"from\":4}", text), 404);
    assert_int_equal(change(&server, "verify", "{\"from\":0}", text), 400);
    assert_int_equal(change(&server, "verify", "{\"device\":\"cpu\"}", text), 400);
    assert_int_equal(change(&server, "verify", "{\"from\":3}", text), 200);
    assert_string_equal(text,
        "{\"job\":\"0000000000aa-1\",\"state\":\"running\",\"from\":3,\"outputs\":4,\"compared\":1,"
        "\"sequence\":null,\"replay\":\"0000000000aa-2\",\"replay_state\":\"queued\",\"why\":null,"
        "\"determinism_class\":{\"job\":null,\"replay\":\"none\"}}\n");
    static const char path[] = "/v1/jobs/0000000000aa-2/verification";
    assert_int_equal(test_server_ask(&server, TEST_USER, HTTP_METHOD_POST, path, "{\"from\":1}",
                         text, sizeof text),
        400);
    memory_jobs_set_state(&server.jobs, 1, "succeeded", true);
    assert_int_equal(
        test_server_ask(&server, TEST_USER, HTTP_METHOD_POST, path, NULL, text, sizeof text), 200);
    assert_non_null(strstr(text, "\"state\":\"differs\""));
    assert_non_null(strstr(text, "\"sequence\":7"));
    assert_int_equal(
        test_server_ask(&server, TEST_USER, HTTP_METHOD_POST, path, NULL, text, sizeof text), 404);
}

static void test_route_job_changes_restores_files(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE], file[192];
    static char large[HTTP_JSON_MAX];
    test_server_open(&server, NULL);
    (void)snprintf(file, sizeof file, "%s/job.lvc", server.folder);
    assert_ok(file_write_atomic(file, "checkpoint", 10));
    assert_int_equal(test_server_post_file(&server, TEST_USER,
                         "/v1/checkpoints?with_outputs=1&device=cpu", file, text, sizeof text),
        200);
    assert_int_equal(test_server_post_file(&server, TEST_USER, "/v1/checkpoints?with_outputs=7",
                         file, text, sizeof text),
        400);
    assert_ok(file_write_atomic(file, large, sizeof large)); /* by way of a temporary file */
    assert_int_equal(
        test_server_post_file(&server, TEST_USER, "/v1/checkpoints", file, text, sizeof text), 400);
    assert_ok(file_write_atomic(file, "", 0));
    assert_int_equal(
        test_server_post_file(&server, TEST_USER, "/v1/checkpoints", file, text, sizeof text), 400);
}

int test_route_job_changes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_route_job_changes_follows_states),
        cmocka_unit_test(test_route_job_changes_verifies),
        cmocka_unit_test(test_route_job_changes_restores_files),
    };
    return cmocka_run_group_tests_name("route_job_changes", tests, NULL, NULL);
}
