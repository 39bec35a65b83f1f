#include <stdio.h>

#include "base/file.h"
#include "tests/scheduler/http_fixtures.h"

static void test_route_store_checks_and_collects(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char text[4096], file[192];
    test_server_open(&server, NULL);
    test_server_register(&server, TEST_USER, "m");
    assert_int_equal(
        test_server_ask(&server, TEST_ADMIN, HTTP_METHOD_POST, "/v1/gc", NULL, text, sizeof text),
        200);
    assert_non_null(strstr(text, "\"chunks\":"));
    assert_int_equal(
        test_server_ask(&server, TEST_LOCAL, HTTP_METHOD_POST, "/v1/fsck", NULL, text, sizeof text),
        200);
    assert_non_null(strstr(text, "\"executables\":1"));
    assert_non_null(strstr(text, "\"errors\":[]"));
    test_server_make_executable(&server, file);
    assert_int_equal(
        test_server_post_file(&server, TEST_LOCAL, "/v1/fsck", file, text, sizeof text), 200);
    (void)snprintf(file, sizeof file, "%s/none", server.folder);
    assert_ok(file_write_atomic(file, "none", 4));
    assert_int_equal(
        test_server_post_file(&server, TEST_LOCAL, "/v1/fsck", file, text, sizeof text), 400);
}

int test_route_store(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_route_store_checks_and_collects)};
    return cmocka_run_group_tests_name("route_store", tests, NULL, NULL);
}
