#include "scheduler/http/server/route.h"

#include "tests/support/test_support.h"

static void test_route_finds_every_route_of_the_table(void **state) {
    (void)state;
    for (RouteId route = 0; route < ROUTE_COUNT; route++) {
        const RouteInfo *info = route_info(route);
        RouteMatch match;
        char path[256];
        size_t size = 0;
        /* a name for each brace */
        for (const char *at = info->pattern; *at; at++) {
            if (*at == '{') at = strchr(at, '}');
            path[size++] = *at == '}' ? 'n' : *at;
        }
        path[size] = 0;
        assert_ok(route_find(http_method_name(info->method), path, &match));
        assert_int_equal(match.route, route);
        for (uint32_t i = 0; i < match.name_count; i++) assert_string_equal(match.names[i], "n");
        assert_true(info->help[0] && info->handler);
        assert_true((info->body == ROUTE_BODY_NONE) == (info->body_size_max == 0));
    }
}

static void test_route_decodes_names_after_splitting(void **state) {
    (void)state;
    RouteMatch match;
    assert_ok(route_find("GET", "/v1/models/a%2Fb", &match));
    assert_int_equal(match.route, ROUTE_MODEL_NEWEST);
    assert_string_equal(match.names[0], "a/b");
    assert_ok(route_find("GET", "/v1/models/m/%33", &match));
    assert_string_equal(match.names[1], "3");
    assert_ok(route_find("GET", "/v1/models/a+b", &match));
    assert_string_equal(match.names[0], "a+b");
}

static void test_route_refuses_tricks(void **state) {
    (void)state;
    RouteMatch match;
    static const char *const broken[] = {"/v1/models/%00", "/v1/models/a%00b", "/v1/models/%",
        "/v1/models/%1", "/v1/models/%zz", "/v1/models/%0a", "/v1/models/%ff", "/v1/models/%7F"};
    static const char *const absent[] = {"", "*", "v1/models", "//v1/models", "/v1/models/",
        "/v1//models", "/v1/models/a/b/c", "/V1/models", "/%76%31/models", "/v1/models/m/1/file/x",
        "/a/b/c/d/e/f/g/h/i/j/k", "/?", "//", "/page", "/page/"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        assert_fails(INVALID, route_find("GET", broken[i], &match));
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        assert_fails(NOT_FOUND, route_find("GET", absent[i], &match));
    char longest[ROUTE_NAME_SIZE + 32] = "/v1/models/";
    memset(longest + 11, 'a', ROUTE_NAME_SIZE);
    assert_fails(INVALID, route_find("GET", longest, &match));
}

static void test_route_names_the_methods_that_an_address_takes(void **state) {
    (void)state;
    RouteMatch match;
    assert_fails_saying(METHOD, "GET, POST", route_find("DELETE", "/v1/jobs", &match));
    assert_fails_saying(METHOD, "GET", route_find("BREW", "/metrics", &match));
    assert_fails(NOT_FOUND, route_find("BREW", "/nothing", &match));
}

static void test_route_decodes_queries_with_blanks(void **state) {
    (void)state;
    char out[32];
    assert_ok(route_decode("a+b%20c", 7, true, out));
    assert_string_equal(out, "a b c");
    assert_ok(route_decode("%C3%A4", 6, false, out));
    assert_string_equal(out, "\xc3\xa4");
    assert_ok(route_decode("", 0, true, out));
    assert_string_equal(out, "");
}

int test_route(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_route_finds_every_route_of_the_table),
        cmocka_unit_test(test_route_decodes_names_after_splitting),
        cmocka_unit_test(test_route_refuses_tricks),
        cmocka_unit_test(test_route_names_the_methods_that_an_address_takes),
        cmocka_unit_test(test_route_decodes_queries_with_blanks),
    };
    return cmocka_run_group_tests_name("route", tests, NULL, NULL);
}
