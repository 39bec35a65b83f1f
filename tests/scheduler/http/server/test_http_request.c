#include "scheduler/http/server/http_request.h"

#include <stdlib.h>

#include "tests/support/test_support.h"

static void test_http_request_cuts_path_and_query(void **state) {
    (void)state;
    HttpRequest OWN_REQUEST(request) = {0};
    char path[256];
    int64_t number;
    bool flag;
    assert_ok(http_request_parse_target(
        &request, "/v1/jobs?state=a%26b&since=12&alias=x&alias=y&empty=&bare&&with_model=1", path));
    assert_string_equal(path, "/v1/jobs");
    assert_string_equal(http_request_query(&request, "state"), "a&b");
    assert_string_equal(http_request_query_at(&request, "alias", 1), "y");
    assert_null(http_request_query_at(&request, "alias", 2));
    assert_string_equal(http_request_query(&request, "empty"), "");
    assert_string_equal(http_request_query(&request, "bare"), "");
    assert_ok(http_request_query_number(&request, "since", 0, &number));
    assert_int_equal(number, 12);
    assert_ok(http_request_query_number(&request, "nothing", 5, &number));
    assert_int_equal(number, 5);
    assert_fails(INVALID, http_request_query_number(&request, "state", 0, &number));
    assert_ok(http_request_query_flag(&request, "with_model", &flag));
    assert_true(flag);
    assert_ok(http_request_query_flag(&request, "nothing", &flag));
    assert_false(flag);
    assert_fails(INVALID, http_request_query_flag(&request, "since", &flag));
    assert_fails_saying(
        INVALID, "state", http_request_check_query(&request, (const char *const[]){"since", NULL}));
    assert_ok(http_request_parse_target(&request, "/x?tenant=t", path));
    assert_ok(http_request_check_query(&request, (const char *const[]){NULL}));
}

static void test_http_request_refuses_queries_beyond_limits(void **state) {
    (void)state;
    HttpRequest OWN_REQUEST(request) = {0};
    static char target[HTTP_TARGET_SIZE_MAX + 16], path[HTTP_TARGET_SIZE_MAX + 16];
    static const char *const broken[] = {"/?a=%00", "/?%00=a", "/?a=%f", "/?a=%ff", "/?a=%0d%0a"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        assert_fails(INVALID, http_request_parse_target(&request, broken[i], path));
    memcpy(target, "/?", 2);
    for (int i = 0; i < HTTP_QUERY_MAX; i++) memcpy(target + 2 + i * 2, "a&", 3);
    assert_ok(http_request_parse_target(&request, target, path));
    memcpy(target + 2 + HTTP_QUERY_MAX * 2, "a", 2);
    assert_fails(INVALID, http_request_parse_target(&request, target, path));
    memset(target, 'a', sizeof target - 1);
    assert_fails(TOO_LARGE, http_request_parse_target(&request, target, path));
}

int test_http_request(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_request_cuts_path_and_query),
        cmocka_unit_test(test_http_request_refuses_queries_beyond_limits),
    };
    return cmocka_run_group_tests_name("http_request", tests, NULL, NULL);
}
