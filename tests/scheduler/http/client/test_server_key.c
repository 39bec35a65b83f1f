#include "scheduler/http/client/server_key.h"

#include <stdio.h>

#include "tests/scheduler/http_fixtures.h"

static void test_server_key_knows_its_form(void **state) {
    (void)state;
    static const char *const wrong[] = {"", "sha256//", "sha256//AAAA",
        "sha256/DsaPU6i3vl97CkgYJSy0d+5K+qDgj5dhU6S2B3SzNE4==",
        "SHA256//DsaPU6i3vl97CkgYJSy0d+5K+qDgj5dhU6S2B3SzNE4=",
        "sha256//DsaPU6i3vl97CkgYJSy0d+5K+qDgj5dhU6S2B3SzNE4",
        "sha256//DsaPU6i3vl97CkgYJSy0d+5K+qDgj5dhU6S2B3SzNE4A",
        "sha256//DsaPU6i3vl97CkgYJSy0d+5K+qDgj5dhU6S2B3SzNE4= ",
        "sha256//DsaPU6i3vl97CkgYJSy0d+5K+qDgj5dhU6S2B3SzNE4=;sha256//AAAA",
        "sha256//DsaPU6i3vl97CkgYJSy0d;5K+qDgj5dhU6S2B3SzNE4=", "/etc/ssl/key.pem"};
    assert_true(server_key_is_text(test_tls_fingerprint));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (server_key_is_text(wrong[i])) fail_msg("%s was taken", wrong[i]);
}

static void test_server_key_is_that_of_the_first_certificate(void **state) {
    (void)state;
    char text[SERVER_KEY_TEXT_SIZE], pem[4096];
    assert_ok(server_key_of_certificate(test_tls_certificate, text));
    assert_string_equal(text, test_tls_fingerprint);
    (void)snprintf(pem, sizeof pem, "words\n%s%s", test_tls_certificate, test_tls_certificate);
    assert_ok(server_key_of_certificate(pem, text));
    assert_string_equal(text, test_tls_fingerprint);
    assert_fails(CORRUPT, server_key_of_certificate("", text));
    assert_fails(CORRUPT, server_key_of_certificate(test_tls_key, text));
}

/* Cut or changed anywhere, a certificate is another one or none. */
static void test_server_key_survives_damaged_certificates(void **state) {
    (void)state;
    char text[SERVER_KEY_TEXT_SIZE], pem[4096];
    size_t size = strlen(test_tls_certificate);
    assert_true(size < sizeof pem);
    for (size_t i = 0; i < size; i++) {
        memcpy(pem, test_tls_certificate, size + 1);
        pem[i] = pem[i] == 'A' ? 'B' : 'A';
        error_free(server_key_of_certificate(pem, text)); /* an outcome either way */
        pem[i] = 0;
        if (i < size - 2) assert_fails(CORRUPT, server_key_of_certificate(pem, text));
    }
}

static void test_server_key_is_asked_for(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char text[SERVER_KEY_TEXT_SIZE];
    HttpServerOptions options = {.tls_certificate = test_tls_certificate, .tls_key = test_tls_key};
    test_server_open(&server, &options);
    assert_ok(server_key_ask(server.url, 5000, text));
    assert_string_equal(text, test_tls_fingerprint);
}

static void test_server_key_of_nobody_is_unreachable(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char text[SERVER_KEY_TEXT_SIZE] = "as it was", url[128];
    test_server_open(&server, NULL);
    assert_fails(INVALID, server_key_ask(server.url, 500, text));
    (void)snprintf(url, sizeof url, "https%s", server.url + strlen("http"));
    assert_fails(UNREACHABLE, server_key_ask(url, 2000, text)); /* it has no TLS */
    assert_fails(UNREACHABLE, server_key_ask("https://127.0.0.1:1", 500, text));
    assert_string_equal(text, "as it was");
}

int test_server_key(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_key_knows_its_form),
        cmocka_unit_test(test_server_key_is_that_of_the_first_certificate),
        cmocka_unit_test(test_server_key_survives_damaged_certificates),
        cmocka_unit_test(test_server_key_is_asked_for),
        cmocka_unit_test(test_server_key_of_nobody_is_unreachable),
    };
    return cmocka_run_group_tests_name("server_key", tests, NULL, NULL);
}
