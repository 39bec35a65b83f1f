#include "scheduler/http/page/page_files.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/scheduler/http_fixtures.h"

enum { TEXT_SIZE = 65536 };

static void get(TestServer *server, const char *path, char text[TEXT_SIZE]) {
    char request[512];
    const int descriptor = test_connect(server, true);
    (void)snprintf(
        request, sizeof request, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path);
    test_send(descriptor, request);
    (void)test_receive(descriptor, text, TEXT_SIZE, 5000);
    (void)close(descriptor);
}

/* Without a token, since the page has no secrets; with the rules for what it may load. */
static void test_route_page_answers_each_of_its_files(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    static char text[TEXT_SIZE];
    char path[128], length[64];
    test_server_open(&server, NULL);
    assert_true(page_file_count > 5);
    for (size_t i = 0; i <= page_file_count; i++) {
        const PageFile *file = &page_files[i % page_file_count];
        if (i < page_file_count) (void)snprintf(path, sizeof path, "/page/%s", file->name);
        get(&server, i < page_file_count ? path : "/", text);
        assert_non_null(strstr(text, "HTTP/1.1 200 "));
        assert_non_null(strstr(text, "Content-Security-Policy: default-src 'none'; "));
        assert_null(strstr(text, "unsafe"));
        assert_non_null(strstr(text, "X-Content-Type-Options: nosniff\r\n"));
        if (i == page_file_count) break;
        (void)snprintf(length, sizeof length, "Content-Length: %zu\r\n", file->size);
        assert_non_null(strstr(text, length));
        assert_non_null(strstr(text, file->content_type));
        assert_memory_equal(strstr(text, "\r\n\r\n") + 4, file->data, file->size);
    }
    assert_non_null(strstr(text, "<!doctype html>"));
    /* the policy would not let them run */
    assert_null(strstr(text, "<script>"));
    assert_null(strstr(text, " style="));
    assert_null(strstr(text, " on"
                             "click="));
    get(&server, "/page/..%2fsecret", text);
    assert_non_null(strstr(text, "HTTP/1.1 404 "));
}

int test_route_page(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_route_page_answers_each_of_its_files)};
    return cmocka_run_group_tests_name("route_page", tests, NULL, NULL);
}
