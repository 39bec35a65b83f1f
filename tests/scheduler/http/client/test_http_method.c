#include "scheduler/http/client/http_method.h"

#include "tests/support/test_support.h"

static void test_http_method_names_are_those_of_the_wire(void **state) {
    (void)state;
    assert_string_equal(http_method_name(HTTP_METHOD_GET), "GET");
    assert_string_equal(http_method_name(HTTP_METHOD_POST), "POST");
    assert_string_equal(http_method_name(HTTP_METHOD_DELETE), "DELETE");
}

int test_http_method(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_method_names_are_those_of_the_wire),
    };
    return cmocka_run_group_tests_name("http_method", tests, NULL, NULL);
}
