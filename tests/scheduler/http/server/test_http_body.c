#include "scheduler/http/server/http_body.h"

#include <stdio.h>
#include <unistd.h>

#include "tests/scheduler/http_fixtures.h"

static void test_http_body_stays_in_memory_while_it_is_small(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    HttpRequest request = {0};
    HttpBody body;
    test_service_open(&server);
    http_body_init(&body, server.service.store, server.service.upload_folder, 10);
    assert_ok(http_body_add(&body, "abc", 3));
    assert_ok(http_body_add(&body, "defghij", 7));
    assert_ok(http_body_finish(&body, &request));
    assert_int_equal(request.body_size, 10);
    assert_memory_equal(request.body, "abcdefghij", 10);
    assert_null(request.body_path);
    assert_fails_saying(TOO_LARGE, "10 bytes", http_body_add(&body, "k", 1));
    assert_null(body.memory.data); /* what was refused takes no memory any more */
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
    http_body_init(&body, server.service.store, server.service.upload_folder, UINT64_MAX);
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

/* Nobody's row is charged while a body comes; its bytes count all the same, in memory and in a
 * file, with those of the tenant's other requests. */
static void test_http_body_is_charged_while_it_comes(void **state) {
    (void)state;
    enum { QUOTA = 1 << 20, BODIES = 8, PIECE = 100 << 10, PIECES = 4 };
    static uint8_t piece[PIECE];
    static const RouteInfo route = {.body = ROUTE_BODY_STREAM};
    TestServer OWN_SERVER(server);
    HttpBody bodies[BODIES];
    size_t refused = 0, taken = 0;
    test_server_open(&server, NULL);
    assert_int_equal(test_server_ask(&server, TEST_ADMIN, HTTP_METHOD_POST, "/v1/tenants/alice",
                         "{\"quotas\":{\"store_bytes\":1048576}}", NULL, 0),
        200);
    const HttpRequest request = {
        .route = &route, .caller = {.tenant = server.alice}, .body_size_max = QUOTA};
    for (size_t i = 0; i < BODIES; i++) {
        http_body_init(&bodies[i], server.service.store, server.service.upload_folder, 0);
        http_body_open(&bodies[i], &request);
    }
    for (size_t round = 0; round < PIECES; round++)
        for (size_t i = 0; i < BODIES; i++) {
            if (!bodies[i].size && round > 0) continue; /* was refused */
            Error *error = http_body_add(&bodies[i], piece, PIECE);
            taken += error ? 0 : PIECE;
            refused += error != NULL;
            if (error) {
                assert_int_equal(error_code(error), ERROR_EXHAUSTED);
                assert_int_equal(bodies[i].descriptor, -1); /* its file is gone at once */
                bodies[i].size = 0;
            }
            error_free(error);
        }
    assert_true(refused > 0 && taken >= PIECE);
    assert_true(in_flight_bytes(server.store, server.alice) <= QUOTA);
    for (size_t i = 0; i < BODIES; i++) http_body_deinit(&bodies[i]);
    assert_int_equal(in_flight_bytes(server.store, server.alice), 0);
}

int test_http_body(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_body_stays_in_memory_while_it_is_small),
        cmocka_unit_test(test_http_body_goes_to_a_file_that_goes_away),
        cmocka_unit_test(test_http_body_is_charged_while_it_comes),
    };
    return cmocka_run_group_tests_name("http_body", tests, NULL, NULL);
}
