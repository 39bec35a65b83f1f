#include <math.h>

#include "base/clock.h"
#include "tests/scheduler/http_fixtures.h"

enum { TEXT_SIZE = 4096 };

static void test_route_submit_passes_the_whole_policy_on(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE];
    test_server_open(&server, NULL);
    const double before = clock_real().calendar_s(clock_real().self);
    assert_int_equal(
        test_server_submit(&server, TEST_USER,
            "{\"model\":\"m@prod\",\"function\":\"f\",\"items\":true,\"batch\":4,\"shared\":[\"w\"]"
            ","
            "\"priority\":\"low\",\"weight\":3,\"deadline\":12.5,\"checkpoint_every\":60,"
            "\"checkpoint_keep\":2,\"release\":\"checkpoint\",\"device\":\"sim:0\",\"key\":\"k\","
            "\"threads\":2,\"suspend_after\":7,\"suspend_after_ms\":0,\"check_finite\":true}",
            text, sizeof text),
        200);
    assert_string_equal(text, "{\"job\":\"0000000000aa-1\",\"state\":\"queued\",\"deadline\":0.0,"
                              "\"missed\":false,\"feasible\":null,\"earliest_end\":null}\n");
    const double after = clock_real().calendar_s(clock_real().self);
    const Submission *last = &server.jobs.last;
    const JobPolicy *policy = &last->policy;
    assert_true(policy->items && policy->batch == 4 && policy->shared_count == 1);
    assert_true(last->priority == POLICY_LOW && policy->weight == 3);
    assert_true(last->deadline >= before + 12.5 && last->deadline <= after + 12.5);
    assert_true(policy->checkpoint_every_ns == 60000000000);
    assert_true(policy->checkpoint_keep == 2 && last->release == JOB_RELEASE_CHECKPOINT);
    assert_true(policy->threads == 2 && policy->suspend_at == 7);
    assert_true(policy->suspend_after_ns == job_policy_suspend_ns(0));
    assert_true(policy->check_finite && last->inputs_size == 3);
    assert_string_equal(policy->function, "f");
    assert_string_equal(policy->device, "sim:0");
    assert_string_equal(policy->shared[0], "w");
    /* the key again is the job again */
    assert_int_equal(test_server_submit(
                         &server, TEST_USER, "{\"model\":\"m\",\"key\":\"k\"}", text, sizeof text),
        200);
    assert_non_null(strstr(text, "0000000000aa-1\""));
    /* of another tenant it is another job */
    assert_int_equal(test_server_submit(
                         &server, TEST_OTHER, "{\"model\":\"m\",\"key\":\"k\"}", text, sizeof text),
        200);
    assert_non_null(strstr(text, "0000000000aa-2\""));
}

static void test_route_submit_has_defaults(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    test_server_open(&server, NULL);
    assert_int_equal(test_server_submit(&server, TEST_USER, "{\"model\":\"m\"}", NULL, 0), 200);
    const Submission *last = &server.jobs.last;
    const JobPolicy *policy = &last->policy;
    assert_true(!policy->items && policy->batch == 1 && policy->weight == 1);
    assert_true(last->priority == POLICY_NORMAL && last->release == JOB_RELEASE_LOG);
    assert_true(policy->suspend_at == 0 && policy->suspend_after_ns == 0 && !last->key);
    assert_true(isnan(last->deadline) && policy->checkpoint_every_ns == 0);
    assert_true(policy->checkpoint_keep == 1 && policy->threads == 0 && !policy->check_finite);
    assert_string_equal(policy->function, "main");
    assert_string_equal(policy->device, "");
}

static void test_route_submit_refuses_wrong_policies(void **state) {
    (void)state;
    static const char *const wrong[] = {"", "{}", "{\"model\":7}", "{\"model\":\"m\"", "[]",
        "{\"model\":\"m\",\"what\":1}", "{\"model\":\"m\",\"priority\":\"urgent\"}",
        "{\"model\":\"m\",\"batch\":2}", "{\"model\":\"m\",\"shared\":[\"w\"]}",
        "{\"model\":\"m\",\"items\":true,\"shared\":\"w\"}",
        "{\"model\":\"m\",\"items\":true,\"shared\":[1]}", "{\"model\":\"m\",\"items\":1}",
        "{\"model\":\"m\",\"weight\":0}", "{\"model\":\"m\",\"weight\":1e3}",
        "{\"model\":\"m\",\"deadline\":-1}", "{\"model\":\"m\",\"release\":\"now\"}",
        "{\"model\":\"m\",\"key\":\"\"}", "{\"model\":\"m\",\"checkpoint_keep\":0}",
        "{\"model\":\"m\\u0000x\"}"};
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE];
    test_server_open(&server, NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (test_server_submit(&server, TEST_USER, wrong[i], text, sizeof text) != 400)
            fail_msg("%s was taken", wrong[i]);
    assert_int_equal(
        test_server_submit(&server, TEST_USER, "{\"model\":\"nothing\"}", text, sizeof text), 404);
    /* parts that are missing or too many */
    OWN(HttpClient, client) = test_server_client(&server, TEST_USER);
    for (size_t count = 1; count < 3; count++) {
        HttpClientReply OWN_REPLY(reply) = {0};
        HttpClientCall call = {
            .method = HTTP_METHOD_POST,
            .path = "/v1/jobs",
            .parts = {{.name = "other", .content_type = "a/b", .data = "x", .size = 1},
                {.name = "policy", .content_type = "a/b", .data = "{\"model\":\"m\"}", .size = 13}},
            .part_count = count,
        };
        assert_fails(INVALID, http_client_call(client, &call, &reply));
    }
    assert_int_equal(server.jobs.count, 0);
}

int test_route_submit(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_route_submit_passes_the_whole_policy_on),
        cmocka_unit_test(test_route_submit_has_defaults),
        cmocka_unit_test(test_route_submit_refuses_wrong_policies),
    };
    return cmocka_run_group_tests_name("route_submit", tests, NULL, NULL);
}
