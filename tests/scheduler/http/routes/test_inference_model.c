#include "scheduler/http/routes/inference_model.h"

#include <stdio.h>

#include "tests/scheduler/http_fixtures.h"

static Error *find(TestServer *server, const char *model, const char *version) {
    HttpRequest request = {.caller = {.tenant = server->alice, .role = CALLER_USER}};
    JobsApiModel found;
    request.match.name_count = version ? 2 : 1;
    (void)snprintf(request.match.names[0], ROUTE_NAME_SIZE, "%s", model);
    (void)snprintf(request.match.names[1], ROUTE_NAME_SIZE, "%s", version ? version : "");
    TRY(inference_model_find(&server->service, &request, &found));
    assert_int_equal(found.version, 1);
    executable_release(found.outline);
    return NULL;
}

static void test_inference_model_finds_versions(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    test_server_open(&server, NULL);
    test_server_register(&server, TEST_USER, "m");
    assert_ok(find(&server, "m", NULL));
    assert_ok(find(&server, "m", "1"));
    assert_fails(NOT_FOUND, find(&server, "m", "2"));
    assert_fails(NOT_FOUND, find(&server, "n", NULL));
    assert_fails(INVALID, find(&server, "m@1", NULL));
    assert_fails(INVALID, find(&server, "m", "1@1"));
}

int test_inference_model(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_inference_model_finds_versions)};
    return cmocka_run_group_tests_name("inference_model", tests, NULL, NULL);
}
