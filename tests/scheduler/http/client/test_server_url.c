#include "scheduler/http/client/server_url.h"

#include "tests/support/test_support.h"

static void test_server_url_takes_tls_and_this_machine(void **state) {
    (void)state;
    static const struct {
        const char *url;
        bool tls;
    } cases[] = {{"https://west.example:8443", true}, {"https://west.example", true},
        {"https://10.0.0.7:8443/", true}, {"https://[2001:db8::1]:8443", true},
        {"http://127.0.0.1:8080", false}, {"http://127.9.9.9:1", false},
        {"http://localhost:8080", false}, {"http://LOCALHOST:8080", false},
        {"http://[::1]:8080/", false}, {"http://127.1:80", false}, {"unix:/run/x", false},
        {"/run/x", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool tls = !cases[i].tls;
        assert_ok(server_url_check(cases[i].url, &tls));
        assert_int_equal(tls, cases[i].tls);
    }
}

static void test_server_url_refuses_open_lines(void **state) {
    (void)state;
    static const char *const open[] = {"http://west.example:80", "http://10.0.0.7:80",
        "http://128.0.0.1", "http://[2001:db8::1]:80", "http://127.0.0.1.example:80",
        "http://localhost.example", "http://0.0.0.0:80", "http://[::ffff:10.0.0.1]:80",
        "http://2130706433.example", "http://localhost.:80"};
    for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
        bool tls;
        assert_fails_saying(REFUSED, "not encrypted", server_url_check(open[i], &tls));
    }
}

static void test_server_url_refuses_what_is_none(void **state) {
    (void)state;
    static const char *const wrong[] = {"", "west", "west:80", "ftp://west", "file:///etc/passwd",
        "https://", "http://127.0.0.1@west.example:80", "https://a:b@west", "https://west/path",
        "https://west?x=1", "https://west#x", "https://we st", "http://127.0.0.1:80/../x",
        "https://west:99999999", "http://127.0.0.1:80\\@west", "https://\nwest"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        bool tls;
        Error *error = server_url_check(wrong[i], &tls);
        if (error_code(error) != ERROR_INVALID) fail_msg("%s: %s", wrong[i], error_message(error));
        error_free(error);
    }
}

int test_server_url(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_url_takes_tls_and_this_machine),
        cmocka_unit_test(test_server_url_refuses_open_lines),
        cmocka_unit_test(test_server_url_refuses_what_is_none),
    };
    return cmocka_run_group_tests_name("server_url", tests, NULL, NULL);
}
