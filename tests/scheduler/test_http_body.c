#include "scheduler/http/http_body.h"

#include <stdio.h>
#include <unistd.h>

#include "tests/scheduler/http_fixtures.h"

static void test_http_body_stays_in_memory_while_it_is_small(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    HttpRequest request = {0};
    HttpBody body;
    test_service_open(&server);
    http_body_init(&body, &server.service, 10);
    assert_ok(http_body_add(&body, "abc", 3));
    assert_ok(http_body_add(&body, "defghij", 7));
    assert_fails_saying(TOO_LARGE, "10 bytes", http_body_add(&body, "k", 1));
    assert_ok(http_body_finish(&body, &request));
    assert_int_equal(request.body_size, 10);
    assert_memory_equal(request.body, "abcdefghij", 10);
    assert_null(request.body_path);
    http_body_deinit(&body);
}

static void test_http_body_goes_to_a_file_that_goes_away(void **state) {
    (void)state;
    enum { PIECE = 100000, PIECES = 9 };
    static uint8_t piece[PIECE];
    TestServer OWN_SERVER(server);
    HttpRequest request = {0};
    HttpBody body;
    char path[256];
    test_service_open(&server);
    http_body_init(&body, &server.service, UINT64_MAX);
    for (int i = 0; i < PIECES; i++) {
        memset(piece, 'a' + i, sizeof piece);
        assert_ok(http_body_add(&body, piece, sizeof piece));
    }
    assert_ok(http_body_finish(&body, &request));
    assert_int_equal(request.body_size, PIECE * PIECES);
    for (int i = 0; i < PIECES; i++) assert_int_equal(request.body[i * PIECE + PIECE - 1], 'a' + i);
    assert_int_equal(access(request.body_path, R_OK), 0);
    (void)snprintf(path, sizeof path, "%s", request.body_path);
    http_body_deinit(&body);
    assert_int_not_equal(access(path, F_OK), 0);
}

int test_http_body(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_body_stays_in_memory_while_it_is_small),
        cmocka_unit_test(test_http_body_goes_to_a_file_that_goes_away),
    };
    return cmocka_run_group_tests_name("http_body", tests, NULL, NULL);
}
