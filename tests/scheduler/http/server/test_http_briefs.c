#include "scheduler/http/server/http_briefs.h"

#include <stdio.h>

#include "tests/support/test_support.h"

static HttpRequest make_request(TenantId tenant, RouteId route, const char *name) {
    HttpRequest request = {.caller.tenant = tenant, .route = route_info(route)};
    request.match.route = route;
    request.match.name_count = 1;
    (void)snprintf(request.match.names[0], sizeof request.match.names[0], "%s", name);
    return request;
}

/* Requests are alike if tenant, route, names and the magnitude of the body are. */
static void test_http_briefs_key_tells_requests_apart(void **state) {
    (void)state;
    const HttpRequest request = make_request(1, ROUTE_INFER, "m");
    const HttpRequest others[] = {make_request(2, ROUTE_INFER, "m"),
        make_request(1, ROUTE_INFER_VERSION, "m"), make_request(1, ROUTE_INFER, "n")};
    const uint64_t key = http_briefs_key(&request, 100);
    assert_true(key != 0);
    assert_true(http_briefs_key(&request, 101) == key);
    assert_true(http_briefs_key(&request, 200) != key);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_true(http_briefs_key(&others[i], 100) != key);
}

/* Large bodies, and routes that are not of the pace, are never brief. */
static void test_http_briefs_refuses_large_bodies_and_other_routes(void **state) {
    (void)state;
    static HttpBriefs briefs;
    const HttpRequest infer = make_request(1, ROUTE_INFER, "m");
    const HttpRequest other = make_request(1, ROUTE_INFERENCE_MODEL, "m");
    assert_true(http_briefs_key(&infer, HTTP_BRIEF_BODY_MAX) != 0);
    assert_int_equal(http_briefs_key(&infer, HTTP_BRIEF_BODY_MAX + 1), 0);
    assert_int_equal(http_briefs_key(&other, 0), 0);
    http_briefs_note(&briefs, 0, 1);
    assert_false(http_briefs_has(&briefs, 0));
}

/* The last request of a kind decides. */
static void test_http_briefs_remembers_the_last_work(void **state) {
    (void)state;
    static HttpBriefs briefs;
    assert_false(http_briefs_has(&briefs, 7));
    http_briefs_note(&briefs, 7, HTTP_BRIEF_NS + 1);
    assert_false(http_briefs_has(&briefs, 7));
    http_briefs_note(&briefs, 7, HTTP_BRIEF_NS);
    assert_true(http_briefs_has(&briefs, 7));
    http_briefs_note(
        &briefs, 7 + HTTP_BRIEFS_MAX, HTTP_BRIEF_NS + 1); /* another one in its place */
    assert_true(http_briefs_has(&briefs, 7));
    http_briefs_note(&briefs, 7 + HTTP_BRIEFS_MAX, 1);
    assert_false(http_briefs_has(&briefs, 7));
    http_briefs_note(&briefs, 7, 1);
    http_briefs_note(&briefs, 7, HTTP_BRIEF_NS + 1);
    assert_false(http_briefs_has(&briefs, 7));
}

int test_http_briefs(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_briefs_key_tells_requests_apart),
        cmocka_unit_test(test_http_briefs_refuses_large_bodies_and_other_routes),
        cmocka_unit_test(test_http_briefs_remembers_the_last_work),
    };
    return cmocka_run_group_tests_name("http_briefs", tests, NULL, NULL);
}
