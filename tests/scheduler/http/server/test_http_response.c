#include "scheduler/http/server/http_response.h"

#include <fcntl.h>
#include <unistd.h>

#include "tests/support/test_support.h"

static int closed;
static void count_close(void *self) {
    (void)self;
    closed++;
}

static void test_http_response_holds_json_and_lines(void **state) {
    (void)state;
    HttpResponse OWN_RESPONSE(response);
    http_response_init(&response);
    assert_ok(http_response_json(&response, json_object_new_string("a/b")));
    assert_string_equal(text_builder_get(&response.text), "\"a/b\"\n");
    assert_string_equal(response.content_type, "application/json");
    assert_ok(http_response_line(&response, json_object_new_int(1)));
    assert_string_equal(text_builder_get(&response.text), "\"a/b\"\n1\n");
    assert_string_equal(response.content_type, "application/jsonl");
}

/* Whatever was begun is undone, and the code decides the status. */
static void test_http_response_turns_errors_into_answers(void **state) {
    (void)state;
    HttpResponse OWN_RESPONSE(response);
    http_response_init(&response);
    int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
    http_response_file(&response, descriptor);
    http_response_header(&response, "X", "y");
    http_response_error(&response, error_make(ERROR_CONFLICT, __FILE__, __LINE__, "a \"b\""));
    assert_int_equal(response.status, 409);
    assert_int_equal(response.header_count, 0);
    assert_int_equal(response.kind, HTTP_BODY_TEXT);
    assert_string_equal(
        text_builder_get(&response.text), "{\"error\":\"a \\\"b\\\"\",\"code\":\"CONFLICT\"}\n");
    assert_int_equal(fcntl(descriptor, F_GETFD), -1);
    closed = 0;
    http_response_stream(&response, (HttpStream){.close = count_close});
    http_response_error(&response, error_make(ERROR_METHOD, __FILE__, __LINE__, "no"));
    assert_int_equal(closed, 1);
    assert_int_equal(response.status, 405);
}

int test_http_response(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_response_holds_json_and_lines),
        cmocka_unit_test(test_http_response_turns_errors_into_answers),
    };
    return cmocka_run_group_tests_name("http_response", tests, NULL, NULL);
}
