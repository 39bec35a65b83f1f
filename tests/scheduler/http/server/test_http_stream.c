#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "scheduler/http/server/http_server_internal.h"
#include "tests/scheduler/http_fixtures.h"

enum { TEXT_SIZE = 65536, PATIENCE_MS = 10000 };

static const char submit[] = "{\"model\":\"m\"}";

static int watch(TestServer *server, bool tcp, int64_t since) {
    char request[512];
    int descriptor = test_connect(server, tcp);
    (void)snprintf(request, sizeof request,
        "GET /v1/jobs/0000000000aa-1/watch?since=%lld HTTP/1.1\r\nHost: x\r\n%s%s%s\r\n",
        (long long)since, tcp ? "Authorization: Bearer " : "",
        tcp ? server->tokens[TEST_ADMIN] : "", tcp ? "\r\n" : "");
    test_send(descriptor, request);
    return descriptor;
}

static void wait_for_watchers(TestServer *server, uint32_t count) {
    static const struct timespec pause = {.tv_nsec = 5000000};
    for (int i = 0; i < 2000 && memory_jobs_watchers(&server->jobs) != count; i++)
        (void)nanosleep(&pause, NULL);
    assert_int_equal(memory_jobs_watchers(&server->jobs), count);
}

/* Lines come when there is something to tell, and the stream ends with the job. */
static void test_http_stream_tells_changes_as_they_come(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE];
    test_server_open(&server, NULL);
    assert_int_equal(test_server_submit(&server, TEST_LOCAL, submit, text, sizeof text), 200);
    for (int tcp = 0; tcp < 2; tcp++) {
        int descriptor = watch(&server, tcp, 0);
        assert_true(
            test_receive_until(descriptor, "\"state\":\"queued\"", text, sizeof text, PATIENCE_MS));
        memory_jobs_set_state(&server.jobs, 0, "suspended", false);
        assert_true(test_receive_until(
            descriptor, "\"state\":\"suspended\"", text, sizeof text, PATIENCE_MS));
        memory_jobs_set_state(&server.jobs, 0, "queued", false);
        assert_true(test_receive_until(descriptor, "queued", text, sizeof text, PATIENCE_MS));
        (void)close(descriptor);
    }
    int descriptor = watch(&server, false, 5);
    memory_jobs_set_state(&server.jobs, 0, "succeeded", true);
    assert_true(test_receive_until(descriptor, "\r\n0\r\n\r\n", text, sizeof text, PATIENCE_MS));
    assert_null(strstr(text, "suspended")); /* those lines were seen before */
    assert_non_null(strstr(text, "succeeded"));
    (void)close(descriptor);
    wait_for_watchers(&server, 0);
}

/* A client that is gone is noticed while nothing happens. */
static void test_http_stream_notices_vanished_clients(void **state) {
    (void)state;
    enum { WATCHERS = 100 };
    static int watchers[WATCHERS];
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE];
    test_server_open(&server, NULL);
    assert_int_equal(test_server_submit(&server, TEST_LOCAL, submit, text, sizeof text), 200);
    int threads = test_thread_count();
    for (int i = 0; i < WATCHERS; i++) watchers[i] = watch(&server, i % 2, 0);
    wait_for_watchers(&server, WATCHERS);
    for (int i = 0; i < WATCHERS; i++)
        assert_true(test_receive_until(watchers[i], "queued", text, sizeof text, PATIENCE_MS));
    assert_int_equal(test_thread_count(), threads);
    for (int i = 0; i < WATCHERS; i++) (void)close(watchers[i]);
    wait_for_watchers(&server, 0);
    memory_jobs_set_state(&server.jobs, 0, "suspended", false);
    assert_int_equal(
        test_server_ask(&server, TEST_LOCAL, HTTP_METHOD_GET, "/v1/jobs", NULL, NULL, 0), 200);
}

/* News, vanishing and the server's end at the same time. */
static void test_http_stream_survives_news_while_clients_vanish(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char text[TEXT_SIZE];
    uint64_t seed = 5;
    test_server_open(&server, NULL);
    assert_int_equal(test_server_submit(&server, TEST_LOCAL, submit, text, sizeof text), 200);
    for (int round = 0; round < 60; round++) {
        int watchers[8];
        for (int i = 0; i < 8; i++) watchers[i] = watch(&server, i % 2, 0);
        for (int i = 0; i < 8; i++) {
            if (test_random(&seed) % 2)
                memory_jobs_set_state(&server.jobs, 0, i % 2 ? "queued" : "suspended", false);
            if (test_random(&seed) % 2) (void)recv(watchers[i], text, 64, MSG_DONTWAIT);
            (void)close(watchers[i]);
        }
    }
    int left = watch(&server, false, 0);
    assert_true(test_receive_until(left, "queued", text, sizeof text, PATIENCE_MS));
    http_server_close(server.server);
    server.server = NULL;
    (void)close(left);
    assert_int_equal(memory_jobs_watchers(&server.jobs), 0);
}

enum { BIG_BYTES = 8 << 20, BIG_PIECE = 128 << 10, BIG_HELD = 1 << 20 };

typedef struct BigAnswer {
    size_t sent;
    atomic_int *open;
} BigAnswer;

static Error *pull_big(void *self, ByteWriter *out, HttpStreamState *out_state) {
    static const char zeros[BIG_PIECE];
    BigAnswer *big = self;
    byte_write_bytes(out, zeros, sizeof zeros);
    big->sent += sizeof zeros;
    *out_state = big->sent < BIG_BYTES ? HTTP_STREAM_MORE : HTTP_STREAM_END;
    return NULL;
}

static void close_big(void *self) {
    BigAnswer *big = self;
    (void)atomic_fetch_sub(big->open, 1);
    free(big);
}

static atomic_int open_answers;

/* Outputs that are large, whatever the job. */
static Error *big_outputs(void *self, const Caller *caller, const char *job, int64_t since,
    HttpStream *out_stream, JobsApiOutputs *out) {
    BigAnswer *big = calloc(1, sizeof *big);
    (void)self, (void)caller, (void)job, (void)since;
    assert_non_null(big);
    big->open = &open_answers;
    (void)atomic_fetch_add(&open_answers, 1);
    *out = (JobsApiOutputs){.next = 1, .count = 1};
    *out_stream = (HttpStream){.pull = pull_big, .close = close_big, .self = big, .held = BIG_HELD};
    return NULL;
}

static void open_big_server(TestServer *server, const HttpServerOptions *options) {
    static JobsApiClass class_;
    test_server_open(server, options);
    class_ = *server->service.jobs.class_;
    class_.outputs = big_outputs;
    server->service.jobs.class_ = &class_;
}

static int ask_big(TestServer *server, TestRole role, size_t line_max, char *line) {
    char request[512];
    int descriptor = test_connect(server, true);
    (void)snprintf(request, sizeof request,
        "GET /v1/jobs/0000000000aa-1/outputs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
        "%s\r\n\r\n",
        server->tokens[role]);
    test_send(descriptor, request);
    assert_true(test_receive_until(descriptor, "\r\n", line, line_max, PATIENCE_MS));
    return descriptor;
}

static void wait_for_answers(int count) {
    static const struct timespec pause = {.tv_nsec = 5000000};
    for (int i = 0; i < 2000 && atomic_load(&open_answers) != count; i++)
        (void)nanosleep(&pause, NULL);
    assert_int_equal(atomic_load(&open_answers), count);
}

/* Asks for a big answer, checks its status and leaves the rest unread. The socket is the caller's.
 */
static int expect_big(TestServer *server, TestRole role, const char *status) {
    char line[512];
    int descriptor = ask_big(server, role, sizeof line, line);
    assert_non_null(strstr(line, status));
    return descriptor;
}

/* Who does not read its answers gets no more of them; nobody else has less for it. */
static void test_http_stream_bounds_answers_that_are_not_read(void **state) {
    (void)state;
    enum { SHARE = 4 };
    HttpServerOptions options = {.answer_bytes_max = (uint64_t)4 * SHARE * BIG_HELD};
    TestServer OWN_SERVER(server);
    int unread[SHARE];
    open_big_server(&server, &options);
    for (int i = 0; i < SHARE; i++) unread[i] = expect_big(&server, TEST_USER, " 200 ");
    int refused = expect_big(&server, TEST_USER, " 429 ");
    int other = expect_big(&server, TEST_OTHER, " 200 ");
    assert_int_equal(
        test_server_ask(&server, TEST_USER, HTTP_METHOD_GET, "/v1/models", NULL, NULL, 0), 200);
    wait_for_answers(SHARE + 1);
    (void)close(refused);
    (void)close(other);
    for (int i = 0; i < SHARE; i++) (void)close(unread[i]);
    wait_for_answers(0);
    int again = expect_big(&server, TEST_USER, " 200 ");
    (void)close(again);
    wait_for_answers(0);
}

static Error *set_quota(Connection *catalog, void *context) {
    const TestServer *server = context;
    return tenants_set_quota(catalog, server->alice, QUOTA_HOST_BYTES, 1);
}

/* A tenant's quota of memory is one for its answers, too, but for what anybody may have. */
static void test_http_stream_bounds_answers_by_the_quota(void **state) {
    (void)state;
    enum { ANYBODYS = 32 };
    TestServer OWN_SERVER(server);
    int unread[ANYBODYS];
    open_big_server(&server, NULL);
    assert_ok(http_service_change(&server.service, set_quota, &server));
    for (int i = 0; i < ANYBODYS; i++) unread[i] = expect_big(&server, TEST_USER, " 200 ");
    int refused = expect_big(&server, TEST_USER, " 429 ");
    int other = expect_big(&server, TEST_OTHER, " 200 ");
    (void)close(refused);
    (void)close(other);
    for (int i = 0; i < ANYBODYS; i++) (void)close(unread[i]);
    wait_for_answers(0);
}

/* An answer may take longer than the limit, but each piece of it has that time. The system's
 * buffers let a server write again only after a megabyte or more was read: that takes some 700 ms
 * here. */
static void test_http_stream_cuts_who_reads_too_slowly(void **state) {
    (void)state;
    static const struct timespec pause = {.tv_nsec = 40000000};
    HttpServerOptions options = {.read_limit_ms = 4000};
    TestServer OWN_SERVER(server);
    static char piece[64 << 10];
    size_t total = 0;
    ssize_t got;
    open_big_server(&server, &options);
    int patient = ask_big(&server, TEST_USER, sizeof piece, piece);
    int silent = ask_big(&server, TEST_USER, sizeof piece, piece);
    while ((got = recv(patient, piece, sizeof piece, 0)) > 0) { /* more than 5 s for all of it */
        total += (size_t)got;
        (void)nanosleep(&pause, NULL);
        if (total > BIG_BYTES) break;
    }
    assert_true(total > BIG_BYTES); /* with what frames the pieces */
    (void)close(patient);
    wait_for_answers(0); /* the other one was cut meanwhile */
    for (total = 0; (got = recv(silent, piece, sizeof piece, 0)) > 0;) total += (size_t)got;
    assert_true(total < BIG_BYTES);
    (void)close(silent);
}

int test_http_stream(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_stream_tells_changes_as_they_come),
        cmocka_unit_test(test_http_stream_notices_vanished_clients),
        cmocka_unit_test(test_http_stream_survives_news_while_clients_vanish),
        cmocka_unit_test(test_http_stream_bounds_answers_that_are_not_read),
        cmocka_unit_test(test_http_stream_bounds_answers_by_the_quota),
        cmocka_unit_test(test_http_stream_cuts_who_reads_too_slowly),
    };
    return cmocka_run_group_tests_name("http_stream", tests, NULL, NULL);
}
