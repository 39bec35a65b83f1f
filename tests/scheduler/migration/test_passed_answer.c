#include "scheduler/migration/passed_answer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/scheduler/stream_fixtures.h"
#include "tests/support/test_support.h"

enum {
    ANSWER_BYTES = 8 << 20,
    PIECE_MAX = (256 << 10) + (16 << 10), /* of one pull: the queue and one write of curl's */
    CLIENTS_MAX = 64,
    SENT_AT_ONCE = 64 << 10,
};

/* Another node: answers every request with the head and so many bytes of a pattern. */
typedef struct Sender {
    const char *head;
    size_t size;
    bool stalls; /* behind them, until the client goes away */
    int listener;
    size_t client_count;
    pthread_t thread, client_threads[CLIENTS_MAX];
    char url[64];
} Sender;

typedef struct Client {
    const Sender *sender;
    int connection;
} Client;

static uint8_t pattern(size_t at) { return (uint8_t)(at * 31 + (at >> 12)); }

static bool send_all(int connection, const void *data, size_t size) {
    const uint8_t *at = data;
    while (size > 0) {
        const ssize_t sent = send(connection, at, size, MSG_NOSIGNAL);
        if (sent <= 0) return false;
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

static void *answer(void *argument) {
    Client client = *(Client *)argument;
    static _Thread_local uint8_t piece[SENT_AT_ONCE];
    free(argument);
    (void)recv(client.connection, piece, sizeof piece, 0);
    bool goes_on = send_all(client.connection, client.sender->head, strlen(client.sender->head));
    for (size_t at = 0; goes_on && at < client.sender->size;) {
        const size_t left = client.sender->size - at,
                     here = left < sizeof piece ? left : sizeof piece;
        for (size_t i = 0; i < here; i++) piece[i] = pattern(at + i);
        goes_on = send_all(client.connection, piece, here);
        at += here;
    }
    while (goes_on && client.sender->stalls)
        goes_on = recv(client.connection, piece, sizeof piece, 0) > 0;
    (void)close(client.connection);
    return NULL;
}

static void *serve(void *argument) {
    Sender *sender = argument;
    int connection;
    while ((connection = accept(sender->listener, NULL, NULL)) >= 0) {
        Client *client = malloc(sizeof *client);
        if (!client || sender->client_count == CLIENTS_MAX) abort();
        *client = (Client){sender, connection};
        if (pthread_create(&sender->client_threads[sender->client_count++], NULL, answer, client))
            abort();
    }
    return NULL;
}

static void sender_start(Sender *sender, const char *head, size_t size, bool stalls) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *sender = (Sender){.head = head, .size = size, .stalls = stalls};
    sender->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(sender->listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(sender->listener, CLIENTS_MAX), 0);
    assert_int_equal(getsockname(sender->listener, (struct sockaddr *)&address, &length), 0);
    (void)snprintf(sender->url, sizeof sender->url, "http://127.0.0.1:%d", ntohs(address.sin_port));
    assert_int_equal(pthread_create(&sender->thread, NULL, serve, sender), 0);
}

static void sender_stop(Sender *sender) {
    (void)shutdown(sender->listener, SHUT_RDWR);
    (void)pthread_join(sender->thread, NULL);
    for (size_t i = 0; i < sender->client_count; i++)
        (void)pthread_join(sender->client_threads[i], NULL);
    (void)close(sender->listener);
}

static Error *ask(PassedAnswers *answers, const Sender *sender, TenantId tenant, int64_t *out_next,
    HttpStream *out_stream) {
    const HttpClientOptions options = {.server = sender->url, .no_proxy = true};
    HttpClient *link;
    TRY(http_client_open(&options, &link));
    return passed_answer_open(answers, link, tenant, "/any", out_next, out_stream);
}

#define HEAD(status, length)                                                                       \
    "HTTP/1.1 " status "\r\nLayover-Next: 42\r\nContent-Length: " length "\r\n\r\n"

/* Whole, and never more of it in memory than the queue. */
static void test_passed_answer_is_what_the_other_node_sends(void **state) {
    (void)state;
    OWN(PassedAnswers, answers) = NULL;
    ByteWriter OWN_BYTES(bytes) = {0};
    Sender sender;
    HttpStream stream;
    int64_t next;
    size_t pulls;
    assert_ok(passed_answers_create(&answers));
    sender_start(&sender, HEAD("200 OK", "8388608"), ANSWER_BYTES, false);
    assert_ok(ask(answers, &sender, 1, &next, &stream));
    assert_int_equal(next, 42);
    assert_true(stream.held >= PIECE_MAX);
    assert_ok(stream_pull(&stream, &pulls, &bytes));
    assert_true(pulls >= ANSWER_BYTES / PIECE_MAX);
    assert_int_equal(bytes.size, ANSWER_BYTES);
    size_t same = 0;
    while (same < bytes.size && bytes.data[same] == pattern(same)) same++;
    assert_int_equal(same, ANSWER_BYTES);
    sender_stop(&sender);
}

static void test_passed_answer_fails_where_the_other_node_does(void **state) {
    (void)state;
    OWN(PassedAnswers, answers) = NULL;
    ByteWriter OWN_BYTES(bytes) = {0};
    Sender sender;
    HttpStream stream = {0};
    int64_t next;
    assert_ok(passed_answers_create(&answers));
    sender_start(&sender, HEAD("200 OK", "8388608"), ANSWER_BYTES - 1, false);
    assert_ok(ask(answers, &sender, 1, &next, &stream));
    assert_fails(UNREACHABLE, stream_pull(&stream, NULL, &bytes));
    sender_stop(&sender);
    assert_fails(UNREACHABLE, ask(answers, &sender, 1, &next, &stream));
    sender_start(&sender, HEAD("404 Not Found", "8"), 8, false);
    assert_fails(NOT_FOUND, ask(answers, &sender, 1, &next, &stream));
    sender_stop(&sender);
    assert_null(stream.pull);
    sender_start(&sender, HEAD("200 OK", "0"), 0, false);
    assert_ok(ask(answers, &sender, 1, &next, &stream));
    byte_writer_deinit(&bytes);
    bytes = (ByteWriter){0};
    assert_ok(stream_pull(&stream, NULL, &bytes));
    assert_int_equal(bytes.size, 0);
    assert_int_equal(next, 42);
    sender_stop(&sender);
}

/* Other tenants have places, those of closed answers come free, and what stalls ends with all. */
static void test_passed_answer_bounds_how_many_there_are(void **state) {
    (void)state;
    static const struct timespec pause = {.tv_nsec = 20000000};
    OWN(PassedAnswers, answers) = NULL;
    Sender sender;
    HttpStream streams[PASSED_ANSWERS_MAX], more;
    int64_t next;
    Error *error = NULL;
    assert_ok(passed_answers_create(&answers));
    sender_start(&sender, HEAD("200 OK", "8388608"), 1, true);
    for (int i = 0; i < PASSED_ANSWERS_MAX; i++) {
        const TenantId tenant = (TenantId)(1 + i / PASSED_ANSWERS_OF_TENANT_MAX);
        assert_ok(ask(answers, &sender, tenant, &next, &streams[i]));
        if (i == PASSED_ANSWERS_OF_TENANT_MAX - 1)
            assert_fails_saying(EXHAUSTED, "8 of this tenant (32 and 8 are allowed); try again",
                ask(answers, &sender, tenant, &next, &more));
    }
    assert_fails_saying(EXHAUSTED, "outputs of 32 jobs at other nodes are being read, 0 of this",
        ask(answers, &sender, 99, &next, &more));
    streams[0].close(streams[0].self);
    for (int i = 0; i < 3000; i++) {
        error_free(error);
        error = ask(answers, &sender, 99, &next, &streams[0]);
        if (error_code(error) != ERROR_EXHAUSTED) break;
        (void)nanosleep(&pause, NULL);
    }
    assert_ok(error);
    for (int i = 0; i < PASSED_ANSWERS_MAX; i++) streams[i].close(streams[i].self);
    passed_answers_release(TAKE(answers));
    sender_stop(&sender);
}

int test_passed_answer(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_passed_answer_is_what_the_other_node_sends),
        cmocka_unit_test(test_passed_answer_fails_where_the_other_node_does),
        cmocka_unit_test(test_passed_answer_bounds_how_many_there_are),
    };
    return cmocka_run_group_tests_name("passed_answer", tests, NULL, NULL);
}
