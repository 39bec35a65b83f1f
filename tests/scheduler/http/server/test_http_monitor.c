#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/scheduler/http_fixtures.h"

static int64_t metric(TestServer *server, const char *name) {
    TextBuilder OWN_TEXT(text) = {0};
    assert_ok(metrics_print(server->metrics, &text));
    const char *at = text_builder_get(&text);
    size_t length = strlen(name);
    while ((at = strstr(at, name)) && (at[-1] != '\n' || at[length] != ' ')) at++;
    assert_non_null(at);
    return strtoll(at + length, NULL, 10);
}

/* Connections are counted, and those that stay silent are cut when their time is over. */
static void test_http_monitor_cuts_silent_connections(void **state) {
    (void)state;
    enum { SILENT = 20 };
    static const struct timespec pause = {.tv_nsec = 5000000};
    HttpServerOptions options = {.head_limit_ms = 400, .idle_limit_ms = 400};
    TestServer OWN_SERVER(server);
    int silent[SILENT];
    char text[4096];
    test_server_open(&server, &options);
    for (int i = 0; i < SILENT; i++) silent[i] = test_connect(&server, i % 2);
    /* one that had an answer may be silent, too, but not for ever */
    test_send(silent[0], "GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(test_receive_until(silent[0], "true", text, sizeof text, 5000));
    for (int i = 0; i < 1000 && metric(&server, "layover_http_connections") < SILENT; i++)
        (void)nanosleep(&pause, NULL);
    uint64_t start = clock_now_ns(clock_real());
    for (int i = 0; i < SILENT; i++) {
        assert_int_equal(test_receive(silent[i], text, sizeof text, 5000), 0);
        (void)close(silent[i]);
    }
    assert_true(clock_now_ns(clock_real()) - start < 3000000000u);
    for (int i = 0; i < 1000 && metric(&server, "layover_http_connections") > 0; i++)
        (void)nanosleep(&pause, NULL);
    assert_int_equal(metric(&server, "layover_http_connections"), 0);
    assert_true(metric(&server, "layover_http_connections_cut_total") >= SILENT);
}

int test_http_monitor(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_monitor_cuts_silent_connections),
    };
    return cmocka_run_group_tests_name("http_monitor", tests, NULL, NULL);
}
