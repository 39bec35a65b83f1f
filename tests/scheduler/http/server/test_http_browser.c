#include "scheduler/http/server/http_browser.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/test_support.h"

typedef struct PageCase {
    const char *page_origin, *fetch_site, *host;
    bool tls, own, other;
} PageCase;

static void test_http_browser_tells_its_own_page_from_others(void **state) {
    (void)state;
    static const PageCase cases[] = {
        {"http://a:80", "same-origin", "a:80", false, true, false},
        {"http://a:80", NULL, "a:80", false, true, false},
        {"http://A:80", NULL, "a:80", false, true, false},
        {"https://a", NULL, "a", false, true, false}, /* a proxy in front ends TLS */
        {"https://a", NULL, "a", true, true, false},
        {NULL, "same-origin", "a", false, true, false},
        {NULL, "none", "a", false, false, false}, /* a user typed the address */
        {NULL, NULL, "a", false, false, false},
        {"http://a", NULL, "a", true, false, true},
        {"http://b", NULL, "a", false, false, true},
        {"http://a:81", NULL, "a:80", false, false, true},
        {"http://a.evil", NULL, "a", false, false, true},
        {"http://a", NULL, "a.evil", false, false, true},
        {"http://a", NULL, NULL, false, false, true},
        {"ftp://a", NULL, "a", false, false, true},
        {"null", NULL, "a", false, false, true},
        {"null", NULL, "null", false, false, true},
        {"", NULL, "", false, false, true},
        {"http://a", "cross-site", "a", false, false, true},
        {"http://a", "same-site", "a", false, false, true},
        {"http://b", "same-origin", "a", false, false, true},
        {NULL, "cross-site", "a", false, false, true},
        {NULL, "Same-Origin", "a", false, false, true},
        {NULL, "", "a", false, false, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const PageCase *at = &cases[i];
        const HttpHead head = {.page_origin = at->page_origin,
            .fetch_site = at->fetch_site,
            .host = at->host,
            .tls = at->tls};
        if (http_browser_is_own_page(&head) != at->own ||
            http_browser_is_other_page(&head) != at->other)
            fail_msg("case %zu", i);
        assert_int_equal(http_browser_is_sender(&head), at->page_origin || at->fetch_site);
    }
}

static void test_http_browser_reads_the_cookie_that_it_writes(void **state) {
    (void)state;
    static const char secret[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    static const char *const wrong[] = {"", ";", "=", "layover-0000000000aa",
        "layover-0000000000aa=", "layover-0000000000aa=0011",
        "layover-0000000000ab="
        "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
        "xlayover-0000000000aa="
        "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
        "layover-0000000000aa="
        "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff0"};
    char cookie[HTTP_COOKIE_SIZE], text[HTTP_SESSION_TEXT_SIZE], header[512];
    http_browser_write_cookie(0xaa, secret, false, cookie);
    assert_non_null(strstr(cookie, "; HttpOnly; SameSite=Strict; Max-Age=43200"));
    assert_null(strstr(cookie, "Secure"));
    (void)snprintf(header, sizeof header, "a=b;  %.*s; c", (int)strcspn(cookie, ";"), cookie);
    assert_true(http_browser_read_cookie(header, 0xaa, text));
    assert_string_equal(text, secret);
    assert_false(http_browser_read_cookie(header, 0xab, text));
    assert_false(http_browser_read_cookie(NULL, 0xaa, text));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(http_browser_read_cookie(wrong[i], 0xaa, text));
    http_browser_write_cookie(UINT64_C(0xffffffffffff), secret, true, cookie);
    assert_true(text_ends_with(cookie, "; Secure"));
    http_browser_write_cookie(0xaa, NULL, false, cookie);
    assert_non_null(strstr(cookie, "=; Path=/"));
    assert_non_null(strstr(cookie, "Max-Age=0"));
}

int test_http_browser(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_browser_tells_its_own_page_from_others),
        cmocka_unit_test(test_http_browser_reads_the_cookie_that_it_writes),
    };
    return cmocka_run_group_tests_name("http_browser", tests, NULL, NULL);
}
